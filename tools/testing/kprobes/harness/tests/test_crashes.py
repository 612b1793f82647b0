# SPDX-License-Identifier: GPL-2.0
"""What a guest has to say of what a client must not do."""

import contextlib
import io
from unittest import mock

import crashes
import kernel
import qemu
from tests import support


class Crashes(support.Case):
    def setUp(self) -> None:
        super().setUp()
        self.write('.config', 'CONFIG_DEBUG_ATOMIC_SLEEP=y\n')
        self.sections = {
            crash.test: [words.format(**self.built().machine.oops) + ' x'
                         for words in crash.says]
            for crash in crashes.CRASHES}

    def built(self, impl: str = 'rust') -> kernel.Built:
        return kernel.Built('x86_64', impl, 'test', self.tmp, self.tmp,
                            self.tmp, '7.3')

    def lines(self) -> list[str]:
        return ['begins', *(line for name, lines in self.sections.items()
                            for line in (f'mark: crash {name}', *lines))]

    def failed(self) -> dict[str, str]:
        """{test: reason} of what has failed."""
        return {result.name.removeprefix('x86_64.rust.crash.'): result.reason
                for result in crashes.judge(
                    self.lines(), crashes.CRASHES, self.built())
                if result.status == 'fail'}

    def test_all_is_said(self) -> None:
        self.assertEqual(self.failed(), {})
        self.assertEqual(len(crashes.judge([], crashes.CRASHES,
                                           self.built())), 5)

    def test_each_line_is_wanted_in_its_place(self) -> None:
        for name, lines in self.sections.items():
            for number, line in enumerate(lines):
                rest = lines[:number] + lines[number + 1:]
                for changed in rest, [line, *rest] if number else rest:
                    self.sections[name] = changed
                    self.assertEqual(list(self.failed()), [name])
            self.sections[name] = lines

    def test_the_cpu_is_free_after_each_death(self) -> None:
        lines = self.sections['H9_no_fixup']
        lines[4] = lines[4].replace('1 hits', '0 hits')
        self.assertEqual(self.failed(), {
            'H9_no_fixup': 'not said where expected: '
            'no_fixup: goes on: 1 hits of 1 after'})

    def test_one_that_was_not_reached(self) -> None:
        self.sections.popitem()
        self.assertEqual(list(self.failed()), ['H4_U7_unrecoverable'])

    def test_what_else_is_said(self) -> None:
        for line in ('WARNING: x', 'BUG: KASAN: y', 'lost_way: survived'):
            for name, lines in self.sections.items():
                self.sections[name] = [*lines, line]
                self.assertEqual(list(self.failed()), [name])
                self.sections[name] = lines

    def test_a_complaint_before_the_first(self) -> None:
        with mock.patch.object(self, 'lines', return_value=[
                'WARNING: x', *self.lines()]):
            self.assertEqual(self.failed(),
                             {'handler_that_may_sleep': 'WARNING: x'})

    def test_a_lost_way_is_told_under_its_name_in_c(self) -> None:
        lines = self.sections['K5_lost_way']
        lines[4] = lines[4].replace('rethook: rethook:', 'kprobes: rethook:')
        self.assertEqual(list(self.failed()), ['K5_lost_way'])

    def run_guest(self, impl: str, lines: list[str], dies: bool = True
                  ) -> tuple[dict[str, str], list[str]]:
        """({test: status}, what was tried) of a guest that says LINES."""
        tried: list[str] = []
        died = qemu.Died('a', 'it died', 'look', lines)
        with mock.patch.object(
                qemu, 'boot', side_effect=died if dies else None,
                return_value=mock.Mock(lines=lines)):
            results = crashes.tests(self.built(impl),
                                    lambda names: tried.extend(names.split()))
        return {result.name.rpartition('.')[2]: result.status
                for result in results}, tried

    def test_the_last_one_may_end_the_guest(self) -> None:
        for dies in True, False:
            statuses, tried = self.run_guest('rust', self.lines(), dies)
            self.assertEqual(statuses, dict.fromkeys(self.sections, 'pass'))
            self.assertEqual(tried, list(self.sections))

    def test_where_it_has_died_is_shown(self) -> None:
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            self.run_guest('rust', [])
        self.assertIn('it died', shown.getvalue())

    def test_what_a_kernel_cannot_try(self) -> None:
        self.write('.config', '')
        statuses, tried = self.run_guest('c', self.lines())
        self.assertEqual(statuses['handler_that_may_sleep'], 'skip')
        self.assertEqual(sorted(tried), ['H4_U7_unrecoverable', 'K5_lost_way',
                                         'state_that_panics'])
        self.assertNotIn('H9_no_fixup', statuses)
