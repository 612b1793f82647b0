# SPDX-License-Identifier: GPL-2.0
"""Single packages from a mirror with faults: each way, and none."""

import hashlib
import shutil
import unittest
from unittest import mock

import env
import packages
from tests import mirror, support

_FILE = 'pool/main/t/tool/tool_{}_{}.deb'
_OLD = _FILE.format('1.0', 'amd64')
_NEW = _FILE.format('1.1', 'amd64')
_STALE = '/trixie/main/binary-amd64/'


def _archive() -> mirror.Archive:
    """A package in two suites, and of another architecture."""
    return mirror.archive({
        ('trixie', 'amd64'): {_OLD: b'old' * 9999},
        ('trixie', 'armhf'): {_FILE.format('1.0', 'armhf'): b'arm' * 9999},
        ('forky', 'amd64'): {_NEW: b'new' * 9999}})


@unittest.skipIf(env.HOST_TOOLS and not shutil.which('apt-get'),
                 'no apt-get on this machine')
class Fetching(support.Case):
    def setUp(self):
        super().setUp()
        self.files = _archive()
        self.server = self.enterContext(mirror.running(self.files, []))
        self.store = env.CACHE / 'store'
        for name, value in (('PAUSE', 0), ('LIST', self.tmp / 'files'),
                            ('SOURCE_OPTIONS', ('trusted=yes',))):
            self.enterContext(mock.patch.object(packages, name, value))
        # A proxy of the machine's must not stand between.
        self.enterContext(mock.patch.dict('os.environ', {
            'no_proxy': '*', 'NO_PROXY': '*', 'DEBIAN_MIRROR': ''}))
        self.listed()

    def listed(self, path=_OLD, data=b'old' * 9999, archives=()):
        """toolchain/files names PATH with these bytes."""
        self.write('files', ''.join(
            f'archive {address} {address}\n'
            for address in archives or [self.server.address])
            + f'file tool:amd64 {hashlib.sha256(data).hexdigest()} {path}\n')

    def unlisted(self):
        self.listed('pool/main/t/tool/tool_0.9_amd64.deb')

    def fetched(self, *rules, package='tool:amd64'):
        """The bytes that come of a mirror with these faults."""
        self.server.rules[:] = rules
        path = packages.fetch(package, self.store, ('trixie', 'forky'),
                              'All else works without it')
        self.assertEqual({entry.name for entry in self.store.iterdir()},
                         {path.name, 'scratch.lock'})
        self.assertRegex(path.name, r'\Atool_1\.[01]_a')
        return path.read_bytes()[:3]

    def test_by_name_where_no_index_is_right(self):
        self.assertEqual(self.fetched(('/dists/', 'stale')), b'old')
        self.assertNotIn('again in', self.printed.getvalue())

    def test_by_the_index_where_there_is_no_such_file(self):
        self.unlisted()
        self.assertEqual(self.fetched(), b'old')
        self.assertNotIn('again in', self.printed.getvalue())

    def test_by_the_index_where_a_file_has_other_bytes(self):
        self.unlisted()
        self.files['/pool/main/t/tool/tool_0.9_amd64.deb'] = b'a login page'
        self.assertEqual(self.fetched(), b'old')

    def test_another_architecture_is_stale(self):
        self.unlisted()
        rule = '/binary-armhf/', 'stale'
        self.assertEqual(self.fetched(rule), b'old')
        shutil.rmtree(self.store)
        with self.refused('the package tool:armhf', 'index of trixie: E: '):
            self.fetched(rule, package='tool:armhf')
        self.assertEqual(self.fetched(package='tool:armhf'), b'arm')

    def test_by_hash_is_missing(self):
        self.unlisted()
        self.assertEqual(self.fetched(('/by-hash/', 'missing')), b'old')

    def test_what_is_right_after_the_pause(self):
        self.unlisted()
        with mock.patch.object(packages.time, 'sleep',
                               lambda _: self.server.rules.clear()):
            self.assertEqual(self.fetched(('/dists/', 'stale')), b'old')
        self.assertIn(f'tool:amd64 is not to be had from {self.server.address}'
                      ' now; again in 0 s', self.printed.getvalue())

    def test_of_another_suite(self):
        self.unlisted()
        for rule in ((_STALE, 'stale'), ('tool_1.0_', 'missing')):
            self.assertEqual(self.fetched(rule), b'new')
            shutil.rmtree(self.store)

    def without_apt(self):
        self.enterContext(mock.patch.object(packages.shutil, 'which',
                                            lambda _: None))

    def test_from_another_archive(self):
        self.without_apt()
        with mirror.running(self.files, []) as other:
            self.listed(archives=[self.server.address, other.address])
            self.assertEqual(self.fetched(('', 'missing')), b'old')

    def test_the_mirror_that_somebody_gives_is_the_only_one(self):
        self.without_apt()
        with mirror.running({}, []) as other, mock.patch.dict(
                'os.environ', {'DEBIAN_MIRROR': other.address}), \
                self.refused(other.address):
            self.fetched()

    def test_all_stale(self):
        address = self.server.address
        with self.refused(
                'the package tool:amd64', f'{address}/{_OLD}: ',
                f'{address}, index of trixie: E: ',
                f'{address}, index of forky: E: ', 'network',
                'DEBIAN_MIRROR=', 'All else works without it'):
            self.fetched(('/dists/', 'stale'), ('/pool/', 'cut'))
        self.assertEqual([entry.name for entry in self.store.iterdir()],
                         ['scratch.lock'])

    def test_nobody_listens(self):
        self.without_apt()
        self.listed(archives=['http://127.0.0.1:1'])
        with self.refused('http://127.0.0.1:1/', 'refused'):
            self.fetched()

    def take(self, path=_OLD, timeout=60):
        return packages.take(self.store, hashlib.sha256(b'x').hexdigest(),
                             f'{self.server.address}/{path}', timeout)

    def test_a_server_that_stops_in_the_middle(self):
        self.server.rules.append(('', 'silent'))
        path, reason = self.take(timeout=0.2)
        self.assertEqual((path, list(self.store.iterdir())), (None, []))
        self.assertIn('timed out', reason)

    def test_a_file_that_somebody_deletes_meanwhile(self):
        with mock.patch.object(packages, 'digest', lambda path: (
                path.unlink(), path.read_bytes())):
            self.assertIn('No such file', self.take()[1])

    def test_a_full_disk(self):
        with mock.patch.object(packages.shutil, 'copyfileobj',
                               side_effect=OSError(28, 'No space left')), \
                self.refused('disk is full', 'CACHE='):
            self.take()
        with mock.patch.object(packages.procs, 'no_space', lambda _: True):
            with self.refused('disk is full'):
                self.take('nowhere')
            with self.refused('disk is full'):
                packages._by_index('tool:amd64', self.store,
                                   self.server.address, 'sid', [])


class Listing(support.Case):
    def test_the_list_that_is_shipped(self):
        for address in packages.archives():
            self.assertRegex(address, r'\Ahttps?://\S+[^/]\Z')
        for package in ('linux-source-7.3:all', 'bindgen:amd64',
                        *(f'busybox-static:{arch}' for arch in
                          ('amd64', 'armhf', 'ppc64el', 's390x'))):
            self.assertTrue(packages.files(package), package)
            for sha256, path in packages.files(package):
                self.assertRegex(sha256, r'\A[0-9a-f]{64}\Z')
                self.assertTrue(path.startswith('pool/main/'), path)
