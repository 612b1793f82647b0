# SPDX-License-Identifier: GPL-2.0
"""What a guest has to say of what a client must not do."""

from unittest import mock

import crashes
import qemu
from tests import support


SLEEP = ('CONFIG_DEBUG_ATOMIC_SLEEP=y\nCONFIG_RUST_KPROBES_CHECK_HANDLERS=y\n'
         'CONFIG_OPTPROBES=y\n')


class Crashes(support.Case):
    def setUp(self) -> None:
        super().setUp()
        self.write('.config', SLEEP)
        self.sections = {
            crash.test: [words.format(**self.built_kernel().machine.oops) + ' x'
                         for words in crash.says]
            for crash in crashes.CRASHES}

    def lines(self, first: str = 'begins', **changed: list[str]) -> list[str]:
        return [first, *(line for name, lines in self.sections.items()
                         for line in (f'mark: crash {name}',
                                      *changed.get(name, lines)))]

    def failed(self, lines: list[str]) -> dict[str, str]:
        """{test: reason} of what has failed."""
        judged = crashes.judge(lines, crashes.CRASHES, self.built_kernel())
        self.assertEqual(len(judged), 10)
        return {result.name.removeprefix('x86_64.rust.crash.'): result.reason
                for result in judged if result.status == 'fail'}

    def test_each_line_is_wanted_in_its_place_and_nothing_else(self) -> None:
        self.assertEqual(self.failed(self.lines()), {})
        for name, lines in self.sections.items():
            variants = [[*lines, line] for line in (
                'WARNING: x', 'BUG: KASAN: y', 'lost_way: survived')]
            for number, line in enumerate(lines):
                rest = lines[:number] + lines[number + 1:]
                variants += [rest, [line, *rest]] if number else [rest]
            for changed in variants:
                self.assertEqual(list(self.failed(self.lines(**{name: changed}))), [name])

    def test_words_in_either_order(self) -> None:
        crash = crashes.Crash('x', ('a & b', 'c'))
        for lines, missing in (('bac', ''), ('abc', ''), ('ac', 'b'), ('cab', 'c')):
            self.assertEqual(crashes._problem(crash, list(lines), {}),
                             missing and f'not said where expected: {missing}')

    def test_what_comes_before_and_what_was_not_reached(self) -> None:
        self.assertEqual(self.failed(self.lines('WARNING: x')),
                         {'handler_that_may_sleep': 'WARNING: x'})
        self.sections.popitem()
        self.assertEqual(list(self.failed(self.lines())), ['H4_U7_unrecoverable'])

    def test_what_is_tried_and_where_the_guest_has_died(self) -> None:
        # Two are of s390x and of arm alone.
        elsewhere = ['unwinder', 'H11_nobodys_breakpoint']
        every = dict.fromkeys(self.sections, 'pass') | dict.fromkeys(elsewhere, 'skip')
        tried_here = [test for test in every if test not in elsewhere]
        for impl, lines, dies, config, tried, statuses in (
                ('rust', self.lines(), True, SLEEP, tried_here, every),
                ('c', self.lines(), True, '',
                 ['K5_lost_way', 'state_that_panics', 'H4_U7_unrecoverable'],
                 {'handler_that_may_sleep': 'skip'}),
                ('rust', [], True, SLEEP, tried_here, dict.fromkeys(tried_here, 'fail'))):
            self.write('.config', config)
            asked: list[str] = []
            died = qemu.Died('a', 'it died', 'look', lines)
            with mock.patch.object(
                    qemu, 'boot', side_effect=died if dies else None,
                    return_value=mock.Mock(lines=lines)):
                judged = {
                    result.name.rpartition('.')[2]: result.status
                    for result in crashes.tests(
                        self.built_kernel(impl=impl), lambda names: asked.extend(
                            names.split()))}
            self.assertEqual(sorted(asked), sorted(tried))
            self.assertLessEqual(statuses.items(), judged.items())
            self.assertEqual('H9_no_fixup' in judged, impl == 'rust')
            self.assertEqual('it died' in self.stderr.getvalue(), not lines)
