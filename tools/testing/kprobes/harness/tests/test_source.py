# SPDX-License-Identifier: GPL-2.0
"""Where the kernel's source comes from, and what is not taken for it."""

from unittest import mock

import env
import source
from tests import support


class Tree(support.Case):
    def test_the_users_tree_and_wrong_ones(self) -> None:
        self.replace((source, 'archive', self.fail))
        with mock.patch.object(env, 'KSRC', self.kernel_tree('right')):
            self.assertEqual(source.version(source.tree()), (7, 3, 1))
        before = env.TREE.stat().st_ino
        built = self.kernel_tree('built')
        (built / '.config').write_text('')
        for tree, *words in (
                (self.kernel_tree('old', 2), 'KSRC', '7.2.1'),
                (self.write('empty/x', '').parent, 'KSRC', 'no version'),
                (built, 'built/.config', 'mrproper')):
            with mock.patch.object(env, 'KSRC', tree), self.refused(*words):
                source.tree()
        # They do not cost the right one.
        self.assertEqual(env.TREE.stat().st_ino, before)
