# SPDX-License-Identifier: GPL-2.0
"""What of coverage.py is no kernel's: drawing, rounds, judging."""

from collections.abc import Iterable
from unittest import mock

import coverage
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
        lines.append(f'coverage: at {place.at:x} {error} '
                     + ('untouched' if error else kind))
        if error:
            refused.append(f'coverage: refused {place.symbol}/0x90  -22  '
                           f'{why}')
        elif kind == 'breakpoint':
            stays.append(f'coverage: stays {place.symbol}/0x90  {why}')
    return lines + refused + stays + ['coverage: end']


class Coverage(support.Case):
    def wrong(self, impl: str, answers: dict[coverage.Place, str],
              more: Iterable[str] = (), without: Iterable[str] = ()
              ) -> list[str]:
        """What is not as it was said where a guest has given ANSWERS."""
        lines = [line for line in _say(answers) if line not in without]
        heard = coverage.Heard([*lines[:-1], *more, *lines[-1:]])
        return coverage.disagreements(list(answers), impl, heard)

    def test_lines_are_read(self) -> None:
        place, = coverage.read(['ff10\tf+0x10\tjump\tbreakpoint: why: so\n'])
        self.assertEqual(place, _place(0xff10, 'jump', 'breakpoint: why: so'))

    def test_what_c_alone_has(self) -> None:
        places = [_place(1), _place(2, f'breakpoint: {_LABEL}'),
                  _place(3, f'breakpoint: {_LABEL}', 'ftrace'),
                  _place(4, f'breakpoint: {_LOOP}'), _place(5, 'ftrace')]
        found = coverage.lost(places)
        self.assertEqual({why: [one.at for one in those]
                          for why, those in found.items()},
                         {_LABEL: [2], _LOOP: [4], 'ftrace': [5]})
        self.assertIn(_LABEL, coverage.UNSOUND)
        self.assertNotIn(_LOOP, coverage.UNSOUND)

    def judged(self, places: list[coverage.Place]) -> dict[str, str]:
        return {result.name: result.status
                for result in coverage._judged('k', places, 'x')}

    def test_one_that_is_lost_fails(self) -> None:
        ours = [_place(at) for at in range(1, 100)]
        more = [_place(at, 'jump', 'breakpoint: x') for at in range(200, 300)]
        fine = ours + more + [_place(500, f'breakpoint: {_LABEL}')]
        self.assertEqual(self.judged(fine),
                         {'x.ratio': 'pass', 'x.nothing_lost': 'pass'})
        self.assertEqual(self.judged(fine + [_place(501, 'ftrace')]),
                         {'x.ratio': 'pass', 'x.nothing_lost': 'fail'})
        self.assertEqual(self.judged(ours + more[:30]),
                         {'x.ratio': 'pass', 'x.nothing_lost': 'pass'})
        self.assertEqual(self.judged(ours + more[:29]),
                         {'x.ratio': 'fail', 'x.nothing_lost': 'pass'})
        ratio, _ = coverage._judged('k', ours + more[:29], 'x')
        self.assertEqual(ratio.reason, '128 jumps are 1.293 times C\'s 99, '
                         'and not 1.3 times')

    def test_the_same_are_drawn_again(self) -> None:
        places = [_place(64 * at) for at in range(9000)]
        first, out = coverage.draw(places, 'c', 1)
        self.assertEqual((len(first), len(set(first)), out),
                         (coverage.DRAWN, coverage.DRAWN, []))
        self.assertEqual(first, sorted(first, key=lambda one: one.at))
        self.assertEqual(first, coverage.draw(places, 'c', 1)[0])
        self.assertNotEqual(first, coverage.draw(places, 'c', 2)[0])

    def test_what_kills_c_is_left_out_with_c(self) -> None:
        deadly = [_place(1, f'breakpoint: {_LABEL}'),
                  _place(2, f'refused: {_WAITS}', 'breakpoint: x')]
        fine = [_place(3), _place(4, f'breakpoint: {_LABEL}', 'ftrace'),
                _place(5, f'refused: {_WAITS}', 'refused: x'),
                _place(6, f'breakpoint: {_LOOP}'),
                _place(7, f'breakpoint: {_WAITS}', 'breakpoint: x')]
        chosen, out = coverage.draw(deadly + fine, 'c', 1)
        self.assertEqual((chosen, out), (fine, deadly))
        self.assertEqual(coverage.draw(deadly + fine, 'rust', 1),
                         (deadly + fine, []))

    def test_rounds_have_all_and_nothing_near(self) -> None:
        # Few enough for rounds not to be split, and more.
        for end in 400, 20000:
            self.in_rounds([_place(at, 'jump' if at % 3 else 'refused: x')
                            for at in range(0, end, 5)])

    def in_rounds(self, places: list[coverage.Place]) -> None:
        found = coverage.rounds(places, 'rust')
        self.assertEqual(sorted(one.at for these in found for one in these),
                         [one.at for one in places])
        for these in found:
            near = min((b.at - a.at for a, b in zip(these, these[1:])),
                       default=coverage.APART)
            self.assertGreaterEqual(near, coverage.APART)
            refused = {one.rust.startswith('refused') for one in these}
            self.assertEqual(len(refused), 1)
            self.assertLessEqual(len(these), coverage.REFUSED_ROUND
                                 if True in refused else coverage.ROUND)

    def test_all_is_as_it_was_said(self) -> None:
        found = {place: place.rust for place in (
            _place(0x10), _place(0x20, 'ftrace'),
            _place(0x40, f'breakpoint: {_LABEL}'),
            _place(0x50, f'refused: {_WAITS}'),
            _place(0x30, f'breakpoint: {_LOOP}'))}
        # Reasons may have an address behind them.
        found = {place: answer.replace('or may', 'or may: g+0x1/0x2')
                 for place, answer in found.items()}
        # In the order of addresses in one file, as they came in the other.
        lines = _say(found)
        stays = [line for line in lines if ' stays ' in line]
        self.assertEqual(self.wrong('rust', found, reversed(stays), stays),
                         [])

    def test_what_is_otherwise_is_told(self) -> None:
        for said, answer in (('jump', f'breakpoint: {_LABEL}'),
                             (f'breakpoint: {_LABEL}', 'jump'),
                             (f'breakpoint: {_LABEL}', f'breakpoint: {_LOOP}'),
                             ('jump', f'refused: {_WAITS}'),
                             ('jump', 'ftrace'), ('ftrace', 'breakpoint: x'),
                             (f'refused: {_WAITS}', 'refused: x'),
                             ('jump', 'untouched')):
            place = _place(0x10, said)
            told, = self.wrong('rust', {place: answer, _place(0x20): 'jump'})
            self.assertIn('f+0x10', told)
            self.assertIn(said, told)

    def test_c_gives_no_reasons(self) -> None:
        place = _place(0x10, c='breakpoint: not boosted')
        silent = [line for line in _say({place: 'breakpoint: x'})
                  if ' stays ' in line]
        self.assertEqual(self.wrong('c', {place: 'breakpoint: x'}, (),
                                    silent), [])
        self.assertEqual(len(self.wrong('c', {place: 'jump'})), 1)

    def test_reasons_of_others_are_not_taken(self) -> None:
        # One stays that is not ours, so nobody knows which is whose.
        place = _place(0x10, f'breakpoint: {_LABEL}')
        more = [f'coverage: stays g+0x10/0x90  {_LABEL}']
        self.assertEqual(len(self.wrong('rust', {
            place: f'breakpoint: {_LABEL}'}, more)), 1)
        # Refusals of rounds before stand before ours.
        place = _place(0x10, f'refused: {_WAITS}')
        line, = [line for line in _say({place: place.rust})
                 if ' refused ' in line]
        old = line.replace('waits', 'waited')
        self.assertEqual(self.wrong('rust', {place: place.rust}, [old, line],
                                    [line]), [])
        # Another place with the same reason.
        other = line.replace('f+0x10', 'f+0x11')
        self.assertEqual(len(self.wrong('rust', {place: place.rust}, [other],
                                        [line])), 1)

    def test_what_was_not_tried_and_troubles(self) -> None:
        place = _place(0x10)
        told = coverage.disagreements([place], 'c', coverage.Heard([]))
        self.assertEqual(len(told), 2)
        told = self.wrong('c', {place: 'jump'}, ['coverage: trouble wait'])
        self.assertEqual(told, ['coverage: trouble wait'])

    def test_text_that_is_not_restored(self) -> None:
        heard = coverage.Heard(['coverage: round 000',
                                'coverage: after ff10 0 jump',
                                'coverage: end'])
        self.assertEqual(heard.unrestored, {0xff10: 'jump'})

    def registered(self, more: Iterable[str] = (),
                   splats: Iterable[str] = (),
                   died: Exception | None = None) -> dict[str, str]:
        """{check: reason or ''} where a guest has one place, and says MORE."""
        place = _place(0xff10)
        lines = _say({place: 'jump'})
        console = mock.Mock(lines=[*lines[:-1], *more, *lines[-1:]],
                            splats=list(splats), seconds=1)
        built = mock.Mock(impl='rust')
        built.name = 'k'
        with mock.patch('coverage._register', side_effect=died,
                        return_value=console):
            found = coverage._registered(built, [place], 'x', 1)
        for one in found:
            self.assertEqual(one.status, 'fail' if one.reason else 'pass')
        return {one.name: one.reason for one in found}

    def test_each_check_of_registering_fails_alone(self) -> None:
        fine = {'x.registered': '', 'x.restored': '', 'x.no-splat': ''}
        self.assertEqual(self.registered(), fine)
        self.assertEqual(
            self.registered(['coverage: trouble wait']),
            {**fine, 'x.registered': '1: coverage: trouble wait'})
        self.assertEqual(
            self.registered(['coverage: after ff10 0 jump',
                             'coverage: after ff30 0 changed']),
            {**fine, 'x.restored':
             'ff10 f+0x10: unregistered, but the text is not as before: jump; '
             'ff30: unregistered, but the text is not as before: changed'})
        self.assertEqual(self.registered(splats=['WARNING: so', 'BUG: so']),
                         {**fine, 'x.no-splat': 'WARNING: so; BUG: so'})
        died = coverage.qemu.Died('x', 'it died', 'look', [])
        with mock.patch.object(died, 'show'):
            self.assertEqual(self.registered(died=died),
                             {'x.boot': 'it died'})

    def test_memory_that_was_not_written(self) -> None:
        built = mock.Mock(obj=self.tmp, impl='c')
        built.name = 'k'
        self.write('System.map', 'ffffffff81000000 T _text\n'
                   'ffffffff81001000 R __init_begin\n')
        # Of a run before.
        self.write('work/coverage/k.memory', 4096 * ' ')
        with mock.patch('coverage.guest.initramfs'), \
                mock.patch('coverage.qemu.boot'), \
                self.refused('4096 bytes of the memory'):
            coverage._memory(built)

    def test_memory_is_copied_when_all_is_still(self) -> None:
        built = mock.Mock(obj=self.tmp, impl='c')
        built.name = 'k'
        self.write('System.map', 'ffffffff81000000 T _text\n'
                   'ffffffff81001000 R __init_begin\n')
        said = []

        def tell(_, words):
            said.append(words.split()[:3])
            if words.startswith('pmemsave'):
                (coverage.env.WORK / 'coverage/k.memory').write_bytes(
                    bytes(4096))

        def boot(*_, on_line, **__):
            on_line('coverage: almost')
            self.assertEqual(said, [])
            on_line('coverage: still')
        with mock.patch('coverage.guest.initramfs'), \
                mock.patch('coverage.qemu.boot', boot), \
                mock.patch('coverage.qemu.tell_monitor', tell):
            coverage._memory(built)
        self.assertEqual(said, [['stop'], ['pmemsave', '0x1000000', '0x1000'],
                                ['cont']])
