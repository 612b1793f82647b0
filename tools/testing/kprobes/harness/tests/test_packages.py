# SPDX-License-Identifier: GPL-2.0
"""Single packages from a mirror with faults: each way, and none."""

import hashlib
import shutil
from unittest import mock

import env
import packages
from tests import mirror, support

_FILE = 'pool/main/t/tool/tool_{}_{}.deb'
_OLD = _FILE.format('1.0', 'amd64')
_NEW = _FILE.format('1.1', 'amd64')
# A file that toolchain/files names and no mirror has.
_GONE = _FILE.format('0.9', 'amd64')
_STALE = ('/dists/', 'stale')


class Fetching(support.Case):
    def setUp(self) -> None:
        super().setUp()
        self.files = mirror.archive({
            ('trixie', 'amd64'): {_OLD: b'old' * 9999},
            ('trixie', 'armhf'): {_FILE.format('1.0', 'armhf'): b'arm' * 9999},
            ('forky', 'amd64'): {_NEW: b'new' * 9999}})
        self.server = self.enterContext(mirror.running(self.files, []))
        self.store = env.CACHE / 'store'
        self.replace((packages, 'PAUSE', 0), (packages, 'LIST', self.tmp / 'files'),
                     (packages, 'SOURCE_OPTIONS', ('trusted=yes',)))
        # A proxy of the machine's must not stand between.
        self.given(no_proxy='*', NO_PROXY='*', DEBIAN_MIRROR='')
        self.listed(_OLD)

    def listed(self, path, *archives):
        """toolchain/files names PATH with the bytes of the old package."""
        digest = hashlib.sha256(b'old' * 9999).hexdigest()
        self.write('files', ''.join(
            f'archive {address} {address}\n'
            for address in archives or [self.server.address])
            + f'file tool:amd64 {digest} {path}\n')

    def fetched(self, *rules, package='tool:amd64'):
        """The bytes that come of a mirror with these faults."""
        self.server.rules[:] = rules
        shutil.rmtree(self.store, ignore_errors=True)
        path = packages.fetch(package, self.store, ('trixie', 'forky'), 'All else works without it')
        self.assertEqual({entry.name for entry in self.store.iterdir()}, {path.name})
        return path.read_bytes()[:3]

    def test_each_way(self) -> None:
        armhf = '/binary-armhf/', 'stale'
        for way, path, rules, data in (
                ('by name: no index is right', _OLD, [_STALE], b'old'),
                ('by the index: no such file', _GONE, [], b'old'),
                ('another architecture is stale', _GONE, [armhf], b'old'),
                ('no file by its hash', _GONE, [('/by-hash/', 'missing')],
                 b'old'),
                ('of another suite: the first is stale', _GONE,
                 [('/trixie/main/binary-amd64/', 'stale')], b'new'),
                ('of another suite: the file is missing', _GONE,
                 [('tool_1.0_', 'missing')], b'new')):
            with self.subTest(way):
                self.listed(path)
                self.assertEqual(self.fetched(*rules), data)
                # Other suites' packages come last, after a pause.
                self.assertEqual('again in' in self.printed.getvalue(), data == b'new')
        with self.refused('the package tool:armhf', 'index of trixie: E: '):
            self.fetched(armhf, package='tool:armhf')
        self.listed(_GONE)
        self.files[f'/{_GONE}'] = b'a login page'
        self.assertEqual(self.fetched(), b'old')

    def test_what_is_right_after_the_pause(self) -> None:
        self.listed(_GONE)
        with mock.patch.object(packages.time, 'sleep', lambda _: self.server.rules.clear()):
            self.assertEqual(self.fetched(_STALE), b'old')
        self.assertIn(f'tool:amd64 is not to be had from {self.server.address}'
                      ' now; again in 0 s', self.printed.getvalue())

    def test_other_archives(self) -> None:
        with mirror.running(self.files, []) as other:
            self.listed(_OLD, self.server.address, other.address)
            self.assertEqual(self.fetched(('', 'missing')), b'old')
        # The mirror that the user gives is the only one.
        with mirror.running({}, []) as other, mock.patch.dict(
                'os.environ', {'DEBIAN_MIRROR': other.address}), \
                self.refused(other.address):
            self.fetched()
        self.listed(_OLD, 'http://127.0.0.1:1')
        with self.refused('http://127.0.0.1:1/', 'refused'):
            self.fetched()

    def test_no_way_is_left(self) -> None:
        address = self.server.address
        with self.refused(
                'the package tool:amd64', f'{address}/{_OLD}: ',
                f'{address}, index of trixie: E: ',
                f'{address}, index of forky: E: ', 'network',
                'DEBIAN_MIRROR=', 'All else works without it'):
            self.fetched(_STALE, ('/pool/', 'cut'))
        self.assertEqual([*self.store.iterdir()], [])

    def take(self, timeout=60):
        return packages.take(self.store, hashlib.sha256(b'x').hexdigest(),
                             f'{self.server.address}/{_OLD}', timeout)

    def test_a_download_that_breaks_off(self) -> None:
        with mock.patch.object(packages, 'digest', lambda path: (path.unlink(), path.read_bytes())):
            self.assertIn('No such file', self.take()[1])
        with mock.patch.object(packages.procs, 'no_space', lambda _: True), \
                self.refused('disk is full', 'CACHE='):
            self.take()
        self.server.rules.append(('', 'silent'))
        path, reason = self.take(timeout=0.2)
        self.assertEqual((path, list(self.store.glob('*.deb'))), (None, []))
        self.assertIn('timed out', reason)
