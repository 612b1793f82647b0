# SPDX-License-Identifier: GPL-2.0
"""Where the kernel's source comes from, and what is not taken for it."""

from unittest import mock

import env
import source
from tests import support


class Tree(support.Case):
    def tree(self, name, patchlevel):
        return self.write(
            f'{name}/Makefile', f'VERSION = 7\nPATCHLEVEL = {patchlevel}\n'
            'SUBLEVEL = 1\nEXTRAVERSION =-rc1\n').parent

    def test_the_users_tree_and_wrong_ones(self):
        self.enterContext(mock.patch.object(source, 'archive', self.fail))
        with mock.patch.object(env, 'KSRC', self.tree('right', '3')):
            self.assertEqual(source.version(source.tree()), (7, 3, 1))
        before = env.TREE.stat().st_ino
        built = self.tree('built', '3')
        (built / '.config').write_text('')
        for wrong, *words in (
                (self.tree('old', '2'), 'KSRC', '7.2.1'),
                (self.write('empty/x', '').parent, 'KSRC', 'no version'),
                (built, 'built/.config', 'mrproper')):
            with mock.patch.object(env, 'KSRC', wrong), self.refused(*words):
                source.tree()
        # They do not cost the right one.
        self.assertEqual(env.TREE.stat().st_ino, before)
