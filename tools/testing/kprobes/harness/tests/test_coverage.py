# SPDX-License-Identifier: GPL-2.0
"""The parts of coverage.py without a kernel: drawing, rounds, judging."""

from collections.abc import Iterable
from pathlib import Path
from unittest import mock

import arches
import coverage
import coverage_drawn
from tests import support

_LABEL = 'a jump label leads into the bytes of the jump, or may'
_LOOP = 'an instruction is a loop, which reaches no further than 127 bytes'
_WAITS = ('the instruction waits for an interrupt, which cannot come while a '
          'probe is handled: probe before or after it')


def _place(at: int, rust: str = 'jump', c: str = 'jump') -> coverage.Place:
    return coverage.Place(at, f'f+{at & 0xff:#x}', rust, c)


def _say(answers: dict[coverage.Place, str]) -> list[str]:
    """The lines of a guest with these ANSWERS in one round."""
    refused, stays, lines = [], [], ['coverage: round 000']
    for place, answer in answers.items():
        kind, _, why = answer.partition(': ')
        error = -22 if kind == 'refused' else 0
        lines.append(f'coverage: at {place.at:x} {error} ' + ('untouched' if error else kind))
        if error:
            refused.append(f'coverage: refused {place.symbol}/0x90  -22  {why}')
        elif kind == 'breakpoint':
            stays.append(f'coverage: stays {place.symbol}/0x90  {why}')
    return lines + refused + stays + ['coverage: end']


class Coverage(support.Case):
    def differing(self, impl: str, answers: dict[coverage.Place, str],
                  more: Iterable[str] = (), without: Iterable[str] = ()
                  ) -> list[str]:
        """The texts about answers that differ where a guest gives ANSWERS."""
        lines = [line for line in _say(answers) if line not in without]
        heard = coverage.Heard([*lines[:-1], *more, *lines[-1:]])
        return coverage.disagreements(list(answers), impl, heard)

    def test_one_that_is_lost_fails(self) -> None:
        ours = [_place(at) for at in range(1, 100)]
        more = [_place(at, 'jump', 'breakpoint: x') for at in range(200, 300)]
        fine = ours + more + [_place(500, f'breakpoint: {_LABEL}')]
        for places, ratio, lost in (
                (fine, 'pass', 'pass'),
                (fine + [_place(501, 'ftrace')], 'pass', 'fail'),
                (fine + [_place(501, f'breakpoint: {_LOOP}')], 'pass', 'fail'),
                (ours + more[:60], 'pass', 'pass'),
                (ours + more[:59], 'fail', 'pass')):
            results = coverage._count_results('k', places, 'x')
            self.assertEqual({result.name: result.status for result in results},
                             {'x.ratio': ratio, 'x.nothing_lost': lost})
            self.assertEqual('LOST' in Path(results[0].log).read_text(), lost == 'fail')
        self.assertEqual(results[0].reason, '158 jumps are 1.596 times '
                         "C's 99, and not 1.6 times")

    def test_what_kills_c_is_left_out_with_c(self) -> None:
        deadly = [_place(0x100, f'breakpoint: {_LABEL}'),
                  _place(0x200, f'refused: {_WAITS}', 'breakpoint: x')]
        fine = [_place(0x300), _place(0x400, f'breakpoint: {_LABEL}', 'ftrace'),
                _place(0x500, f'refused: {_WAITS}', 'refused: x'),
                _place(0x600, f'breakpoint: {_LOOP}'),
                _place(0x700, f'breakpoint: {_WAITS}', 'breakpoint: x')]
        chosen, out = coverage.draw(deadly + fine, 'c', 1)
        self.assertEqual((chosen, out), (fine, deadly))
        self.assertEqual(coverage.draw(deadly + fine, 'rust', 1), (deadly + fine, []))

    def test_rounds_have_all_and_nothing_near(self) -> None:
        places = [_place(at, 'jump' if at % 3 else 'refused: x') for at in range(0, 20000, 5)]
        chosen, _ = coverage.draw(places, 'rust', 1)
        self.assertTrue(all(b.at - a.at >= coverage.APART for a, b in zip(chosen, chosen[1:])))
        rounds = coverage.rounds(chosen)
        self.assertEqual(sorted(sum(rounds, []), key=lambda place: place.at), chosen)
        self.assertTrue(all(len(these) <= coverage.ROUND for these in rounds))

    def test_all_is_as_it_was_said(self) -> None:
        answers = {place: place.rust for place in (
            _place(0x10), _place(0x20, 'ftrace'),
            _place(0x40, f'breakpoint: {_LABEL}'),
            _place(0x50, f'refused: {_WAITS}'),
            _place(0x30, f'breakpoint: {_LOOP}'))}
        # Reasons may have an address behind them.
        answers = {place: answer.replace('or may', 'or may: g+0x1/0x2')
                   for place, answer in answers.items()}
        # In the order of addresses in one file, as they came in the other.
        lines = _say(answers)
        stays = [line for line in lines if ' stays ' in line]
        self.assertEqual(self.differing('rust', answers, reversed(stays), stays), [])

    def test_what_is_otherwise_is_told(self) -> None:
        for predicted, answer in (('jump', f'breakpoint: {_LABEL}'),
                                  (f'breakpoint: {_LABEL}', 'jump'),
                                  (f'breakpoint: {_LABEL}', f'breakpoint: {_LOOP}'),
                                  ('jump', f'refused: {_WAITS}'),
                                  ('jump', 'ftrace'), ('ftrace', 'breakpoint: x'),
                                  (f'refused: {_WAITS}', 'refused: x'),
                                  ('jump', 'untouched')):
            place = _place(0x10, predicted)
            mismatch, = self.differing('rust', {place: answer, _place(0x20): 'jump'})
            self.assertIn('f+0x10', mismatch)
            self.assertIn(predicted, mismatch)

    def test_c_gives_no_reasons(self) -> None:
        place = _place(0x10, c='breakpoint: not boosted')
        self.assertEqual(self.differing('c', {place: 'breakpoint'}), [])
        self.assertEqual(len(self.differing('c', {place: 'jump'})), 1)

    def test_reasons_of_others_are_not_taken(self) -> None:
        # One stays that is not ours, so nobody knows which is whose.
        stays = _place(0x10, f'breakpoint: {_LABEL}')
        refused = _place(0x10, f'refused: {_WAITS}')
        line, = [line for line in _say({refused: refused.rust}) if ' refused ' in line]
        for place, more, without, differing in (
                (stays, [f'coverage: stays g+0x10/0x90  {_LABEL}'], [], 1),
                # Refusals of rounds before stand before ours.
                (refused, [line.replace('waits', 'waited'), line], [line], 0),
                # Another place with the same reason.
                (refused, [line.replace('f+0x10', 'f+0x11')], [line], 1)):
            self.assertEqual(len(self.differing(
                'rust', {place: place.rust}, more, without)), differing)

    def test_each_check_of_registering_fails_alone(self) -> None:
        place = _place(0xff10)
        *lines, end = _say({place: 'jump'})
        built = mock.Mock(arch='x', impl='rust')
        for more, splats, failed in (
                ([], [], {}),
                (['coverage: trouble wait'], [],
                 {'x.rust.coverage.registered': '1: coverage: trouble wait'}),
                (['coverage: after ff10 0 jump'], [],
                 {'x.rust.coverage.restored': 'ff10 f+0x10: unregistered, but the '
                  'text is not as before: jump'}),
                ([], ['WARNING: so', 'BUG: so'],
                 {'x.rust.coverage.no-splat': 'WARNING: so; BUG: so'})):
            console = mock.Mock(lines=[*lines, *more, end], splats=splats, seconds=1)
            with mock.patch('coverage._register', return_value=console):
                _, results = coverage.registered(built, [place])
            self.assertEqual({result.name: result.reason for result in results
                              if result.status == 'fail'}, failed)
            self.assertEqual(len(results), 3)
        # A guest that says nothing has tried nothing and has not ended.
        self.assertEqual(len(coverage.disagreements([_place(0x10)], 'c', coverage.Heard([]))), 2)

    def test_where_nothing_was_said_an_answer_must_be_possible(self) -> None:
        place = coverage.Place(0x10, 'f+0x10')
        for answer, rust, c in (('jump', 0, 0), ('ftrace', 0, 0), (f'breakpoint: {_LOOP}', 0, 0),
                                (f'refused: {_WAITS}', 0, 0), ('breakpoint: ', 1, 0),
                                ('untouched', 1, 0), ('changed', 1, 1)):
            self.assertEqual([len(self.differing(impl, {place: answer}))
                              for impl in ('rust', 'c')], [rust, c])
            heard = coverage.Heard(_say({place: answer}))
            self.assertEqual(coverage_drawn.fate(place, heard),
                             {'untouched': coverage_drawn.NOT_ARMED}.get(
                                 answer, answer.removesuffix(': ')))


class Drawn(support.Case):
    def test_functions_are_walked_without_data(self) -> None:
        arm = ('00001000 00000000 t $a\n00001000 0000000c T one\n00001000 0000000c T alias\n'
               '00001004 00000000 t $d\n00001008 00000000 t $a\n0000100c 00000004 t one\n'
               '00001010 00000000 T label\n         U none\n00009000 00000004 T init_text\n')
        s390x = bytes([0, 0, 0x07, 0, 0x47, 0, 0, 0, 0xa7, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0])
        for rows, text, lengths, expected in (
                (arm, bytes(0x14), (4,) * 4,
                 {('one', 0): (0x1000, [0, 8]), ('one', 1): (0x100c, [0])}),
                ('00001002 00000010 T f\n', s390x, arches.of('s390x').lengths,
                 {('f', 0): (0x1002, [0, 2, 6, 10])})):
            self.assertEqual(coverage_drawn.functions(rows, text, 0x1000, lengths), expected)

    def test_places_are_in_functions_of_both(self) -> None:
        ours = {(name, 0): (at, [0, 4]) for name, at in (('f', 0x100), ('g', 0x200), ('h', 0x300))}
        theirs = {('f', 0): (0x900, [0, 4]), ('g', 0): (0x980, [0, 8])}
        # The other one is too near.
        (place,), number = coverage_drawn.draw(ours, theirs, 1)
        self.assertEqual((number, place.at_c - place.at), (2, 0x800))
        self.assertEqual(place.symbol, f'f+{place.at - 0x100:#x}')

    def test_c_may_have_more_only_where_it_is_wrong(self) -> None:
        both, emulated = [_place(at) for at in range(1, 9)], _place(21, 'breakpoint: x')
        for places, probed, jumps in (
                ([_place(20, f'refused: {coverage_drawn.UNSAFE[0]}: y')], 'pass', 'pass'),
                ([emulated], 'pass', 'fail'),
                ([emulated, _place(22, c='breakpoint')], 'pass', 'pass'),
                # A probe of C's that was not armed counts neither way.
                ([emulated, _place(22, c=coverage_drawn.NOT_ARMED)], 'pass', 'fail'),
                ([_place(21, 'refused: x')], 'fail', 'fail')):
            results = coverage_drawn.count(both + places, 'x')
            self.assertEqual({result.name: result.status for result in results},
                             {'x.probed': probed, 'x.jumps': jumps})
            self.assertIn('| C: jump', Path(results[0].log).read_text())
