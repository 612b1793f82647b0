# SPDX-License-Identifier: GPL-2.0
"""Where the kernel's source comes from, and what is not taken for it."""

from unittest import mock

import env
import packages
import source
from tests import support


class Order(support.Case):
    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(packages, 'fetch', self.fetch))

    def fetch(self, package, folder, suites, otherwise):
        self.assertEqual((package, suites), ('linux-source-7.3:all',
                                             ('trixie-backports',)))
        self.assertIn('KSRC=', otherwise)
        return folder / 'fetched'

    def test_the_cache_then_debians_package(self):
        self.assertEqual(source.archive(), env.CACHE / 'source/fetched')
        for name in ('linux-source-7.3_7.3.4_all.deb', 'linux-7.3.5.tar.xz'):
            cached = self.write(f'cache/source/{name}', '')
            self.assertEqual(source.archive(), cached)

    def test_the_newest_is_taken(self):
        for name in ('linux-7.3.10.tar.xz', 'linux-7.3.4.tar.xz'):
            newest = self.write(f'cache/source/{name}', name)
        self.assertEqual(source.archive(), newest.with_name(
            'linux-7.3.10.tar.xz'))

    def test_an_unfinished_download_is_not_taken(self):
        self.write('cache/source/linux-7.3.5.tar.xz.part', '')
        self.write('cache/source/linux-6.12.tar.xz', '')
        self.assertEqual(source.archive().name, 'fetched')

    def test_the_users_tree_comes_first(self):
        ksrc = self.tree('ksrc', '3')
        with mock.patch.object(env, 'KSRC', ksrc), \
                mock.patch.object(source, 'archive', self.fail):
            self.assertEqual(source.version(source.tree()), (7, 3, 1))

    def test_an_archive_that_goes_while_it_is_unpacked(self):
        path = self.write('linux-7.3.4.tar.xz', 'none')
        with self.refused('linux-7.3.4.tar.xz to unpack', 'delete that file'):
            source.unpack(path, self.tmp / 'a')
        path.unlink()
        with self.refused('to stay until it is unpacked', 'deleted it',
                          'same command again'):
            source.unpack(path, self.tmp / 'b')

    def test_a_wrong_tree_does_not_cost_the_right_one(self):
        self.test_the_users_tree_comes_first()
        before = env.TREE.stat().st_ino
        for wrong, words in ((self.tree('old', '2'), ('KSRC', '7.2.1')),
                             (self.write('empty/x', '').parent,
                              ('KSRC', 'no version'))):
            with mock.patch.object(env, 'KSRC', wrong):
                with self.refused(*words):
                    source.tree()
        built = self.tree('built', '3')
        (built / '.config').write_text('')
        with mock.patch.object(env, 'KSRC', built):
            with self.refused('built/.config', 'mrproper'):
                source.tree()
        self.assertEqual(env.TREE.stat().st_ino, before)

    def tree(self, name, patchlevel):
        return self.write(
            f'{name}/Makefile', f'VERSION = 7\nPATCHLEVEL = {patchlevel}\n'
            'SUBLEVEL = 1\nEXTRAVERSION =\n').parent


class Version(support.Case):
    def version(self, text):
        return source.version(self.write('t/Makefile', text).parent)

    def test_read_from_the_makefile(self):
        self.assertEqual(self.version(
            '# SPDX-License-Identifier: GPL-2.0\nVERSION = 7\n'
            'PATCHLEVEL = 3\nSUBLEVEL = 12\nEXTRAVERSION =-rc1\n'),
            (7, 3, 12))

    def test_no_kernel_tree(self):
        self.assertIsNone(self.version('all:\n'))
        self.assertIsNone(source.version(self.tmp / 'nowhere'))

    def test_required(self):
        tree = self.write('t/Makefile', 'VERSION = 7\nPATCHLEVEL = 2\n'
                          'SUBLEVEL = 9\n').parent
        with self.refused('the tree to be Linux 7.3', '7.2.9'):
            source.require_version(tree, 'the tree')
        with self.refused('the tree to be a Linux source', 'Makefile'):
            source.require_version(self.tmp, 'the tree')
