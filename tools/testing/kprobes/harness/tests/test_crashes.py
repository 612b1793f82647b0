# SPDX-License-Identifier: GPL-2.0
"""crashes.unsaid: a guest dies with the right words, in their order."""

import unittest

import crashes

SAID = ['[    1.0] kprobes: Unrecoverable kprobe detected.',
        '[    1.0] kprobes: Dump kprobe:',
        '.symbol_name = kprobes_unrecoverable_site, .offset = 0, '
        '.addr = kprobes_unrecoverable_site+0x0/0x3 [m]',
        '[    1.0] kernel BUG at somewhere']


class Unsaid(unittest.TestCase):
    def test_all_is_said(self):
        self.assertIsNone(crashes.unsaid(SAID, crashes.UNRECOVERABLE))

    def test_each_line_is_wanted(self):
        for left_out in range(len(SAID)):
            lines = SAID[:left_out] + SAID[left_out + 1:]
            self.assertEqual(crashes.unsaid(lines, crashes.UNRECOVERABLE),
                             crashes.UNRECOVERABLE[left_out])

    def test_the_cpu_is_free_after_each_death(self):
        said = [f'{line}0x4 [m]' for line in crashes.NO_FIXUP]
        self.assertIsNone(crashes.unsaid(said, crashes.NO_FIXUP))
        said[3] = said[3].replace('1 hits', '0 hits')
        self.assertEqual(crashes.unsaid(said, crashes.NO_FIXUP),
                         crashes.NO_FIXUP[3])

    def test_order_is_wanted(self):
        self.assertIsNotNone(
            crashes.unsaid(SAID[::-1], crashes.UNRECOVERABLE))

    def test_a_panic_leaves_nothing(self):
        said = [f'[    1.0] kprobes_{line}' for line in crashes.PANICS]
        self.assertIsNone(crashes.unsaid(said, crashes.PANICS))
        for place, line in enumerate(crashes.PANICS):
            self.assertEqual(crashes.unsaid(
                said[:place] + said[place + 1:], crashes.PANICS), line)

    def test_who_may_sleep_is_reported(self):
        said = [f'[    1.0] kprobes_{line}' for line in crashes.SLEEPS]
        self.assertIsNone(crashes.unsaid(said, crashes.SLEEPS))
        for place, line in enumerate(crashes.SLEEPS):
            self.assertEqual(crashes.unsaid(
                said[:place] + said[place + 1:], crashes.SLEEPS), line)

    def test_a_lost_way_is_warned_of_once(self):
        said = [f'[    1.0] {line}' for line in crashes.LOST_WAY]
        self.assertIsNone(crashes.unsaid(said, crashes.LOST_WAY))
        self.assertIsNone(crashes.warned_wrongly(said))
        self.assertEqual(crashes.warned_wrongly(said[1:]), '0 warnings')
        self.assertEqual(crashes.warned_wrongly(said[:1] + said),
                         '2 warnings')

    def test_a_lost_way_is_told_under_its_name_in_c(self):
        said = [line.replace('rethook: rethook:', 'kprobes: rethook:')
                for line in crashes.LOST_WAY]
        self.assertEqual(crashes.unsaid(said, crashes.LOST_WAY),
                         crashes.LOST_WAY[4])
