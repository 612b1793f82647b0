# SPDX-License-Identifier: GPL-2.0
"""Config fragments: what is asked for, and that it is really there."""

from unittest import mock

import fragments
from tests import support


class Fragments(support.Case):
    def lines(self, *texts):
        return fragments.lines([
            self.write(f'f{n}.config', text)
            for n, text in enumerate(texts)])

    def verify(self, wanted, config):
        return fragments.verify(wanted, self.write('.config', config))

    def test_values(self):
        wanted = self.lines('# why\nCONFIG_A=y\n\nCONFIG_B="x y"\n'
                            '# CONFIG_C is not set\nCONFIG_D=-1\n')
        self.assertEqual({name: value for name, (_, value, _)
                          in wanted.items()},
                         {'CONFIG_A': 'y', 'CONFIG_B': '"x y"',
                          'CONFIG_C': 'n', 'CONFIG_D': '-1'})

    def test_later_fragment_has_the_last_word(self):
        wanted = self.lines('CONFIG_A=y\n', '\n# CONFIG_A is not set\n')
        self.assertEqual(wanted['CONFIG_A'],
                         ('# CONFIG_A is not set', 'n', 'f1.config:2'))

    def test_a_comment_about_an_option_is_a_comment(self):
        self.assertEqual(self.lines('# CONFIG_A=y would be slow\n'
                                    '# CONFIG_A=y\n'), {})

    def test_bad_line_is_named(self):
        for bad in ('CONFIG_A', 'CONFIG A=y', 'A=y',
                    'CONFIG_A is not set'):
            with self.refused(f'f0.config:2: {bad}'):
                self.lines(f'CONFIG_B=y\n{bad}\n')

    def test_all_lines_stuck(self):
        self.verify(self.lines('CONFIG_A=y\n# CONFIG_B is not set\n'
                               '# CONFIG_GONE is not set\n'),
                    '# Linux\nCONFIG_A=y\n# CONFIG_B is not set\n')

    def test_a_line_that_did_not_stick_is_named(self):
        wanted = self.lines('CONFIG_A=y\nCONFIG_LOST=m\nCONFIG_C=y\n'
                            '# CONFIG_D is not set\n')
        with self.refused('f0.config:2: CONFIG_LOST=m',
                          'CONFIG_LOST=n', 'CONFIG_C=m', 'CONFIG_D=y',
                          'depends on'):
            self.verify(wanted, 'CONFIG_A=y\nCONFIG_C=m\nCONFIG_D=y\n')

    def test_fragments_of_a_kernel_in_order(self):
        self.assertEqual(
            [path.stem for path in fragments.chosen('arm', 'c', 'kasan')],
            ['common', 'arm', 'impl-c', 'debug', 'kasan'])

    def test_every_flavour_has_its_fragments(self):
        for flavour in fragments.FLAVOURS:
            for path in fragments.chosen('x86_64', 'rust', flavour):
                self.assertTrue(path.exists(), path.name)
                fragments.lines([path])

    def test_unknown_flavour(self):
        with self.refused('bench', 'fast'):
            fragments.chosen('arm', 'c', 'fast')

    def test_missing_fragment_is_named(self):
        self.enterContext(mock.patch.object(fragments, 'FOLDER', self.tmp))
        with self.refused('common.config'):
            fragments.write(self.tmp, self.tmp, 'arm', 'c', 'test', [])
