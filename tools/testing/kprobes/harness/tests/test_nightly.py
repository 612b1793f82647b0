# SPDX-License-Identifier: GPL-2.0
"""The nightly toolchain: made once of its parts, or there is no Miri."""

import hashlib
import io
import tarfile
from unittest import mock

import host
import nightly
import packages
from tests import support


class Nightly(support.Case):
    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(packages, 'PAUSE', 0))

    def test_made_once_of_its_parts(self):
        path = self.tmp / 'miri-nightly.tar.xz'
        with tarfile.open(path, 'w:xz') as archive:
            member = tarfile.TarInfo('miri-nightly/miri-preview/bin/miri')
            member.size, member.mode = 1, 0o755
            archive.addfile(member, io.BytesIO(b'M'))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        right, wrong = (self.write(f'nightly-{number}',
                                   f'{number} {path.as_uri()}\n')
                        for number in (digest, 'f' * 64))
        with mock.patch.object(nightly, '_sysroot') as sysroot:
            with self.assertRaisesRegex(nightly.Missing, 'SHA-256 is'):
                nightly.ready(wrong)
            into = nightly.ready(right)
            self.assertTrue((into / 'bin/miri').stat().st_mode & 0o100)
            path.unlink()
            self.assertEqual(nightly.ready(right), into)
        sysroot.assert_called_once_with(into)

    def test_without_miri_its_tests_are_skipped_with_the_reason(self):
        listing = self.write('nightly',
                             f'{"0" * 64} file:///nowhere/miri.tar.xz\n')
        with mock.patch.object(host, 'fetch'), \
                mock.patch.object(nightly, 'LIST', listing):
            result, = host.miri()
        self.assertEqual(result.status, 'skip')
        self.assertIn('no Miri: file:///nowhere/miri.tar.xz', result.reason)
