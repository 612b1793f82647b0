# SPDX-License-Identifier: GPL-2.0
"""The nightly toolchain: its parts, what is wrong with them, and no Miri."""

import hashlib
import io
import tarfile
from unittest import mock

import host
import nightly
import packages
import procs
from tests import support


class Nightly(support.Case):
    def setUp(self):
        super().setUp()
        self.setups = []
        self.enterContext(mock.patch.object(packages, 'PAUSE', 0))
        self.enterContext(mock.patch.object(
            nightly, '_sysroot', self.setups.append))

    def part(self, name, files):
        """A line for a part with FILES, which is in a file of its own."""
        path = self.tmp / f'{name}-nightly.tar.xz'
        with tarfile.open(path, 'w:xz') as archive:
            for place, text in files.items():
                member = tarfile.TarInfo(f'{name}-nightly/{place}')
                member.size, member.mode = len(text), 0o755
                archive.addfile(member, io.BytesIO(text.encode()))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return f'{digest} {path.as_uri()}\n'

    def listing(self, *lines):
        return self.write('nightly', '# parts\n' + ''.join(lines))

    def two_parts(self):
        return (self.part('rustc', {'rustc/bin/rustc': 'r',
                                    'rustc/manifest.in': 'm',
                                    'install.sh': 'i'}),
                self.part('miri', {'miri-preview/bin/miri': 'M',
                                   'miri-preview/lib/x/y': 'y'}))

    def test_parts_are_laid_over_each_other(self):
        into = nightly.ready(self.listing(*self.two_parts()))
        self.assertEqual((into / 'bin/rustc').read_text(), 'r')
        self.assertEqual((into / 'bin/miri').read_text(), 'M')
        self.assertEqual((into / 'lib/x/y').read_text(), 'y')
        self.assertTrue((into / 'bin/miri').stat().st_mode & 0o100)
        self.assertFalse((into / 'manifest.in').exists())
        self.assertEqual(self.setups, [into])

    def test_made_once(self):
        listing = self.listing(*self.two_parts())
        into = nightly.ready(listing)
        (self.tmp / 'miri-nightly.tar.xz').unlink()
        self.assertEqual(nightly.ready(listing), into)
        self.assertEqual(len(self.setups), 1)

    def test_another_list_is_another_toolchain(self):
        first, second = self.two_parts()
        self.assertNotEqual(nightly.ready(self.listing(first)),
                            nightly.ready(self.listing(first, second)))

    def test_wrong_bytes_are_no_part(self):
        first, second = self.two_parts()
        listing = self.listing(first, 'f' * 64 + second[64:])
        for _ in range(2):
            with self.assertRaisesRegex(nightly.Missing, 'SHA-256 is'):
                nightly.ready(listing)
        self.assertEqual(self.setups, [])

    def test_a_part_that_is_there_after_a_pause(self):
        listing = self.listing(self.two_parts()[0])
        path = self.tmp / 'rustc-nightly.tar.xz'
        aside = path.rename(self.tmp / 'aside')
        with mock.patch.object(nightly.time, 'sleep',
                               lambda _: aside.rename(path)):
            nightly.ready(listing)

    def test_no_library_for_miri(self):
        self.enterContext(mock.patch.object(
            procs, 'run', return_value=1))
        with mock.patch.object(nightly, '_sysroot', _REAL), \
                self.assertRaisesRegex(nightly.Missing, 'standard library'):
            nightly.ready(self.listing(*self.two_parts()))

    def test_without_miri_its_tests_are_skipped_with_the_reason(self):
        with mock.patch.object(host, 'fetch'), \
                mock.patch.object(nightly, 'LIST', self.listing(
                    f'{"0" * 64} file:///nowhere/miri.tar.xz\n')):
            found = host.miri()
        self.assertEqual([one.status for one in found], ['skip'])
        self.assertIn('no Miri: file:///nowhere/miri.tar.xz',
                      found[0].reason)


_REAL = nightly._sysroot
