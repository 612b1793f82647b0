# SPDX-License-Identifier: GPL-2.0
"""The benchmark's judgement: does it repeat, what is refused."""

import copy
import gzip
import json
import types
from unittest import mock

import bench
import bench_repeat
import cli
import env
import guest
import kernel
import variables
from bench_rows import HITS, SECTIONS
from tests import support

_ROWS = [row for rows in SECTIONS.values() for row in rows]
_OF = {unit: next(row.name for row in _ROWS if row.unit == unit)
       for unit in ('insns', 'ns', 'syncs', 'bytes')}


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
    def setUp(self):
        super().setUp()
        self.said = []

    def check(self, now, quick=False):
        return bench_repeat.check(now, _ROWS, quick, self.said.append)

    def differing(self, name, **figures):
        """The errors of a run that differs in one row from one before."""
        self.check(result())
        now = result()
        now['rows'][name].update(figures)
        return self.check(now)

    def test_the_first_run_has_nothing_to_compare_with(self):
        self.assertEqual(self.check(result()), [])
        self.assertIn('no earlier run', self.said[-1])

    def test_the_same_again(self):
        self.check(result())
        self.assertEqual(self.check(result()), [])
        self.assertIn('0 rows differ', self.said[-1])

    def test_instructions_and_bytes(self):
        for unit in ('insns', 'bytes'):
            row = next(row for row in _ROWS if row.unit == unit)
            self.assertEqual(self.differing(row.name, **{row.figure: 1010}),
                             [])
            self.check(result())
            for figure, text in ((1021, '(+2.10%)'), (980, '(-')):
                error, = self.differing(row.name, **{row.figure: figure})
                self.assertIn(f'{row.name}: ', error)
                self.assertIn(text, error)

    def test_traps(self):
        error, = self.differing('step', traps=2.0)
        self.assertIn('step (traps): 1.0 before, 2.0 now', error)

    def test_waiting_has_a_tolerance_of_its_own(self):
        row = next(row for row in _ROWS if row.unit == 'ns')
        self.assertEqual(self.differing(row.name, **{row.figure: 1090}), [])
        self.assertIn('within its tolerance', self.said[-2])
        self.check(result())
        self.assertEqual(
            len(self.differing(row.name, **{row.figure: 1300})), 1)

    def test_interrupts_may_differ_by_one(self):
        row = next(row for row in _ROWS if row.unit == 'syncs')
        before, now = result(), result()
        for figure, errors in ((3, 0), (4, 1)):
            before['rows'][row.name][row.figure] = 2
            now['rows'][row.name][row.figure] = figure
            self.assertEqual(
                len(bench_repeat.compare(before, now, _ROWS)[0]), errors)

    def test_a_figure_that_came_or_went(self):
        now = result()
        del now['rows']['step']['median']
        self.check(result())
        error, = self.check(now)
        self.assertIn('step: 1000 before, no figure now', error)

    def test_a_run_that_went_wrong_is_not_the_next_ones_measure(self):
        for _ in range(2):
            self.assertEqual(len(self.differing('step', median=2000)), 1)

    def test_other_kernels_and_kinds_are_not_compared(self):
        self.check(result())
        other = result()
        other['rows']['step']['median'] = 2000
        other['made_from'] = 'ffff'
        self.assertEqual(self.check(other), [])
        for different in (dict(other, made_from='a1b2', impl='rust'),):
            self.assertEqual(self.check(different), [])
        self.assertEqual(self.check(dict(other, made_from='a1b2'),
                                    quick=True), [])

    def test_what_a_run_is_made_from(self):
        paths = [self.write('image', 'a'), self.write('initramfs', 'b')]

        def digest(version='10.0.13'):
            with mock.patch.object(bench_repeat.procs, 'output',
                                   lambda _: version):
                return bench_repeat.digest(paths, 'qemu')
        before = digest()
        self.assertEqual(digest(), before)
        self.assertNotEqual(digest('10.0.14'), before)
        self.write('initramfs', 'c')
        self.assertNotEqual(digest(), before)

    def test_an_initramfs_is_the_same_every_time(self):
        built = types.SimpleNamespace(arch='x86_64', machine=None, obj=self.tmp)
        with mock.patch.object(guest, 'busybox', lambda _: b'x'), \
                mock.patch.object(gzip.time, 'time', side_effect=(1, 1e9)):
            self.assertEqual(*(guest.initramfs(built, name, '').read_bytes()
                               for name in ('a', 'b')))


class Command(support.Case):
    """make bench, the measuring replaced."""

    def setUp(self):
        super().setUp()
        self.results = [result(), result()]
        self.enterContext(mock.patch.object(
            bench, '_measure', lambda impl, quick: (
                dict(copy.deepcopy(self.results.pop()), impl=impl), 60.0)))

    def bench(self, **variables):
        with mock.patch.dict('os.environ', {'ARCH': '', 'IMPL': 'c',
                                            **variables}):
            return cli.bench()

    def test_twice(self):
        self.assertEqual((self.bench(), self.bench()), (0, 0))
        self.assertIn('planned 15.9 min, took 1.0 min, limit 30 min',
                      self.printed.getvalue())

    def test_a_row_that_does_not_repeat_fails(self):
        self.results[0]['rows'][_OF['insns']]['median'] = 1100
        self.assertEqual((self.bench(), self.bench()), (0, 1))
        self.assertIn(f'FAILED c: does not repeat: {_OF["insns"]}: ',
                      self.printed.getvalue())

    def test_both_and_their_ratio(self):
        self.results[0] = result('rust')
        self.results[0]['rows']['step']['median'] = 1500
        self.assertEqual(self.bench(IMPL=''), 0)
        line, = [line for line in self.printed.getvalue().splitlines()
                 if line.startswith('  single-stepped, pre + post handler')]
        self.assertEqual(line.split()[-4:], ['1.50', '1', '/', '1'])
        self.assertIn('planned 19.6 min, took 2.0 min',
                      self.printed.getvalue())

    def test_what_is_too_dear_fails(self):
        self.results[0] = result('rust')
        self.results[0]['rows']['return_ftrace']['median'] = 851
        self.assertEqual(self.bench(IMPL=''), 1)
        self.assertIn("FAILED rust: row return_ftrace: 851 is 0.851 of C's "
                      '1000, and may be 0.85', self.printed.getvalue())

    def test_what_is_dear_in_c_alone_is_not_judged(self):
        self.assertEqual(bench.dear({'c': result()}, result(), True), [])
        for quick, rows in ((True, HITS), (False, _ROWS)):
            judged = sum(1 for row in rows if row.most or row.limit)
            self.assertGreater(judged, 10)
            self.assertEqual(
                len(bench.dear({'rust': result()}, result(), quick)), judged)
            self.assertEqual(
                bench.dear({'rust': result('rust')}, result(), quick), [])
        # What has a limit is judged without C, too.
        self.assertEqual(
            len(bench.dear({'rust': result()}, None, False)),
            sum(1 for row in _ROWS if row.limit))

    def test_over_the_limit(self):
        self.enterContext(mock.patch.object(bench, '_TOTAL', 0.5))
        self.assertEqual(self.bench(), 0)
        self.assertIn('limit 0.5 min  OVER BUDGET', self.printed.getvalue())
        self.assertRegex(self.printed.getvalue(),
                         r'(?m)^measuring, of these +0.5 +1.0  OVER BUDGET$')
        path = env.RESULTS / 'bench/c-x86_64.json'
        self.assertEqual(json.loads(path.read_text())['over_budget'],
                         '1.0 of 0.5 minutes')

    def test_what_is_planned_is_within_the_limit(self):
        self.assertEqual(set(bench._PLANNED), set(env.IMPLS))
        for impl in env.IMPLS:
            self.assertEqual(set(bench._PLANNED[impl]),
                             set(bench._names(False)))
            for minutes in bench._PLANNED[impl].values():
                self.assertLess(minutes * 60, bench._LIMIT)
        self.assertLess(sum(bench._minutes(impl, False)
                            for impl in env.IMPLS), bench._TOTAL)

    def test_within_the_limit(self):
        self.bench()
        self.assertNotIn('OVER BUDGET', self.printed.getvalue())
        self.assertNotIn('over_budget', (
            env.RESULTS / 'bench/c-x86_64.json').read_text())

    def test_other_architectures_are_refused(self):
        self.enterContext(mock.patch.object(kernel, 'build', self.fail))
        for command in ('bench', 'bench-quick'):
            with mock.patch.dict('os.environ', {'ARCH': 'arm', 'IMPL': 'c'}):
                with self.refused('ARCH=x86_64', 'ARCH=arm', 'targets.S'):
                    variables.check(command)
        self.assertFalse((env.RESULTS / 'bench').exists())


class Troubles(support.Case):
    def without_jumps(self, impl):
        """A result where a jump was to be, and a breakpoint is."""
        found = result(impl)
        found['rows']['optimized'] = {'wrong': 'first-byte', 'found': 204,
                                      'expected': 233}
        # Waiting for one came to no end.
        found['rows']['optimized_2'] = {'errno': -110}
        return found

    def test_a_jump_that_is_not_there_is_one(self):
        for impl in ('c', 'rust'):
            found = self.without_jumps(impl)
            self.assertEqual(len(bench.troubles({impl: found}, True)), 2)
