# SPDX-License-Identifier: GPL-2.0
"""Where the kernel's source comes from, and what is not taken for it."""

import hashlib
import http.server
import threading
from unittest import mock

import env
import source
from tests import support

_GOOD = b'the right bytes\n' * 1000
_HASH = hashlib.sha256(_GOOD).hexdigest()


class _Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith('/good/'):
            self.answer(_GOOD, len(_GOOD))
        elif self.path.startswith('/wrong/'):
            self.answer(b'some login page', 15)
        elif self.path.startswith('/short/'):
            self.answer(_GOOD[:100], len(_GOOD))
        elif self.path.startswith('/garbage/'):
            self.wfile.write(b'nothing that is HTTP\r\n\r\n')
        else:
            self.send_error(404, 'Not Found')

    def answer(self, data, length):
        self.send_response(200)
        self.send_header('Content-Length', str(length))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Fetching(support.Case):
    def setUp(self):
        super().setUp()
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), _Server)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, args=(0.01,),
                         daemon=True).start()
        self.base = f'http://127.0.0.1:{server.server_port}'
        self.store = self.tmp / 'store'
        # A proxy of the machine's must not stand between.
        self.enterContext(mock.patch.dict(
            'os.environ', {'no_proxy': '*', 'NO_PROXY': '*'}))

    def listing(self, *kinds):
        return self.write('sources', '# SHA-256 and place\n\n' + ''.join(
            f'{_HASH}  {self.base}/{kind}/linux-7.3.4.tar.xz\n'
            for kind in kinds))

    def test_the_first_good_one_is_taken(self):
        got = source.fetch(self.store, self.listing('none', 'wrong', 'good'))
        self.assertEqual(got, self.store / 'linux-7.3.4.tar.xz')
        self.assertEqual(got.read_bytes(), _GOOD)
        self.assertEqual(list(self.store.iterdir()), [got])

    def test_broken_answers_are_passed_over(self):
        got = source.fetch(self.store, self.listing('short', 'garbage',
                                                    'good'))
        self.assertEqual(got.read_bytes(), _GOOD)

    def test_when_all_fail_each_is_told(self):
        with self.refused(
                f'{self.base}/none/linux-7.3.4.tar.xz: HTTP Error 404',
                f'{self.base}/wrong/linux-7.3.4.tar.xz: SHA-256 is',
                f'not {_HASH}', 'network', 'KSRC='):
            source.fetch(self.store, self.listing('none', 'wrong'))
        self.assertEqual(list(self.store.iterdir()), [])

    def test_nobody_listens(self):
        listing = self.write('sources', f'{_HASH} http://127.0.0.1:1/x\n')
        with self.refused('http://127.0.0.1:1/x: ', 'refused', 'KSRC='):
            source.fetch(self.store, listing)

    def test_empty_list(self):
        with self.refused('the list is empty'):
            source.fetch(self.store, self.listing())

    def test_who_deletes_it_meanwhile_is_no_traceback(self):
        def digest(part):
            part.unlink()
            return source.hashlib.sha256(part.read_bytes())
        with mock.patch.object(source, 'digest', digest):
            with self.refused('good/linux-7.3.4.tar.xz: ', 'No such file'):
                source.fetch(self.store, self.listing('good'))

    def test_full_disk(self):
        with mock.patch.object(source.shutil, 'copyfileobj',
                               side_effect=OSError(28, 'No space left')):
            with self.refused('disk is full', 'CACHE='):
                source.fetch(self.store, self.listing('good'))


class Listing(support.Case):
    def test_entries(self):
        path = self.write('sources', '# comment\n\naa http://x/1\n'
                          'bb  http://y/2\n')
        self.assertEqual(list(source.entries(path)),
                         [('aa', 'http://x/1'), ('bb', 'http://y/2')])

    def test_the_list_that_is_shipped(self):
        found = list(source.entries())
        self.assertTrue(found)
        for digest, url in found:
            self.assertRegex(digest, r'\A[0-9a-f]{64}\Z')
            self.assertRegex(url, r'\Ahttps?://\S+/\S+\Z')


class Order(support.Case):
    def setUp(self):
        super().setUp()
        self.packaged = self.tmp / 'packaged'
        self.listing = self.write('sources', '')

    def archive(self):
        return source.archive(packaged=self.packaged, listing=self.listing)

    def test_cache_then_package_then_archives(self):
        with self.refused('the list is empty'):
            self.archive()
        package = self.write('packaged/linux-source-7.3_7.3.4_all.deb', '')
        self.assertEqual(self.archive(), package)
        cached = self.write('cache/source/linux-7.3.5.tar.xz', '')
        self.assertEqual(self.archive(), cached)

    def test_the_newest_is_taken(self):
        for name in ('linux-7.3.10.tar.xz', 'linux-7.3.4.tar.xz'):
            newest = self.write(f'cache/source/{name}', name)
        self.assertEqual(self.archive(), newest.with_name(
            'linux-7.3.10.tar.xz'))

    def test_an_unfinished_download_is_not_taken(self):
        self.write('cache/source/linux-7.3.5.tar.xz.part', '')
        self.write('cache/source/linux-6.12.tar.xz', '')
        with self.refused('the list is empty'):
            self.archive()

    def test_the_users_tree_comes_first(self):
        ksrc = self.tree('ksrc', '3')
        with mock.patch.object(env, 'KSRC', ksrc), \
                mock.patch.object(source, 'archive', self.fail):
            self.assertEqual(source.version(source.tree()), (7, 3, 1))

    def test_an_archive_that_goes_while_it_is_unpacked(self):
        path = self.write('linux-7.3.4.tar.xz', 'none')
        with self.refused('linux-7.3.4.tar.xz to unpack', 'delete that file'):
            source._unpack(path, self.tmp / 'a')
        path.unlink()
        with self.refused('to stay until it is unpacked', 'deleted it',
                          'same command again'):
            source._unpack(path, self.tmp / 'b')

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
