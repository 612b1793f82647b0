# SPDX-License-Identifier: GPL-2.0
"""The benchmark's judgement: does it repeat, what is refused."""

import copy

import bench
import cli
from bench import repeat, rows
from tests import support

_X86 = rows.of_arch('x86_64')
_SECTIONS = rows.sections(_X86)
_ROWS = [row for section in _SECTIONS.values() for row in section]
# A row of each unit.
_OF = {row.unit: row for row in reversed(_ROWS)}


def result(impl='c'):
    """A result with every row, none of them too dear for Rust."""
    return {'impl': impl, 'arch': 'x86_64', 'release': '7.3.4',
            'made_from': 'a1b2', 'rows': {
                row.name: {'unit': row.unit, row.figure:
                           impl == 'rust' and row.limit or
                           1000 * (impl == 'rust' and row.most or 1),
                           **({'traps': 1.0} if row.traps else {})}
                for row in _ROWS}}


class Repeating(support.Case):
    def check(self, now, quick=False):
        """The errors of a run."""
        return repeat.check(now, _ROWS, quick)

    def differing(self, name, **figures):
        """The errors of a run that differs in one row from one before."""
        self.check(result())
        now = result()
        now['rows'][name].update(figures)
        return self.check(now)

    def test_each_unit_has_a_tolerance(self) -> None:
        for unit, old, fits, differs in (
                ('insns', 1000, (1010, 990), ((1021, '+2.10%'), (980, '-2'))),
                ('ns', 1000, (1090, 910), ((1300, '+30'), (700, '-30'))),
                ('syncs', 2, (3, 1), ((4, '+100'), (0, '-100')))):
            row, before, now = _OF[unit], result(), result()
            before['rows'][row.name][row.figure] = old
            for figure in fits:
                now['rows'][row.name][row.figure] = figure
                self.assertEqual(repeat.compare(before, now, [row]), [])
            for figure, change in differs:
                now['rows'][row.name][row.figure] = figure
                error, = repeat.compare(before, now, [row])
                self.assertIn(f'{row.name}: {old} before, {figure} now ({change}', error)

    def test_traps_and_a_figure_that_went(self) -> None:
        error, = self.differing('step', traps=2.0)
        self.assertIn('step (traps): 1.0 before, 2.0 now', error)
        # A run that went wrong is not the next one's measure.
        error, = self.differing('step', median=2000)
        self.assertIn('step: 1000 before, 2000 now', error)
        now = result()
        del now['rows']['step']['median']
        error, = self.check(now)
        self.assertIn('step: 1000 before, no figure now', error)

    def test_other_kernels_and_kinds_are_not_compared(self) -> None:
        self.check(result())
        other = result()
        other['rows']['step']['median'] = 2000
        for different, quick in ((dict(other, made_from='ffff'), False),
                                 (dict(other, impl='rust'), False),
                                 (other, True)):
            self.assertEqual(self.check(different, quick), [])


class Command(support.Case):
    """make bench, the measuring replaced."""

    def setUp(self) -> None:
        super().setUp()
        self.results = [result(), result()]
        self.replace((bench, '_measure', lambda _arch, impl, *_: dict(
            copy.deepcopy(self.results.pop()), impl=impl)))

    def bench(self, impl='c'):
        self.given(ARCH='', IMPL=impl)
        return cli.bench()

    def test_what_does_not_repeat_or_is_too_dear_fails(self) -> None:
        name = _OF['insns'].name
        self.results[0]['rows'][name]['median'] = 1100
        self.assertEqual((self.bench(), self.bench()), (0, 1))
        self.results = [result('rust'), result()]
        self.results[0]['rows']['return_ftrace']['median'] = 861
        self.assertEqual(self.bench(impl=''), 1)
        for line in (f'FAILED c: does not repeat: {name}: ',
                     "FAILED rust: row return_ftrace: 861 is 0.861 of C's "
                     '1000, and may be 0.86'):
            self.assertIn(line, self.printed.getvalue())

    def test_what_is_dear_in_c_alone_is_not_judged(self) -> None:
        judged = [row for row in _ROWS if row.most or row.limit]
        self.assertGreater(len(judged), 60)
        dear = result()
        for row in _ROWS:
            dear['rows'][row.name][row.figure] += 1
        for c, rust, count in (
                (result(), None, 0), (result(), result('rust'), 0),
                (result(), dear, len(judged)),
                # A row with a limit is judged without C, too.
                (None, dear, sum(1 for row in judged if row.limit))):
            self.assertEqual(len(list(bench.too_dear(c, rust, _SECTIONS))), count)


class Guest(support.Case):
    """What a guest and QEMU say, as figures."""

    def test_a_jump_that_is_not_there_is_a_failure(self) -> None:
        wanted, figures = rows.of_one_hit(_SECTIONS), result('rust')
        # A breakpoint where a jump was to be; an end that was waited for.
        lines = ('bench: row=optimized wrong=first-byte found=204 expected=233',
                 'bench: row=optimized_2 errno=-110', 'bench: done')
        figures['rows'].update(bench.read(lines)[0])
        del figures['rows']['step']['traps']
        self.assertEqual(list(bench.troubles(figures, wanted)), [
            'rust: row step has no traps counted',
            'rust: row optimized has first-byte 204, expected 233',
            'rust: row optimized_2 failed with errno -110'])

    def test_exceptions_between_two_marks_are_counted(self) -> None:
        log = self.write('log', ''.join(
            f'{line}\n' for line in (
                '  1: v=0e e=0000 CR2=ffffffff00000020',
                '  2: v=03 e=0000', '  3: v=01 e=0000', '  4: v=ef e=0000',
                '  5: v=0e e=0000 CR2=ffffffff00000030', '  6: v=03 e=0000')))
        row = {'step': {'mark': 2, 'n': 2}}
        self.assertEqual(bench.count_traps(log, row, _X86), {'step': {'traps': 1.0}})
        with self.refused('a mark for the row step'):
            bench.count_traps(log, {'step': {'mark': 4, 'n': 2}}, _X86)

    def test_instructions_between_two_marks_are_counted(self) -> None:
        log = self.write('log', 'mark 0 10\nmark 1 30\nmark 2 50\nmark 3 90\n')
        figures = {'a': {'first': 0, 'spans': 2, 'n': 3}, 'b': {'mean': 1}}
        self.assertEqual(bench.count_spans(log, figures), {
            'a': {'unit': 'insns', 'mean': 20, 'n': 3}, 'b': {'mean': 1}})
        figures['a']['first'] = 2
        with self.refused('the marks of the row a'):
            bench.count_spans(log, figures)
