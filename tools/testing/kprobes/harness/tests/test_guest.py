# SPDX-License-Identifier: GPL-2.0
"""The archive that a guest begins with."""

import gzip
import stat
import subprocess
import types
from unittest import mock

import guest
from tests import support


class Initramfs(support.Case):
    def setUp(self) -> None:
        super().setUp()
        self.built = types.SimpleNamespace(machine=None, obj=self.tmp)
        self.enterContext(mock.patch.object(
            guest, 'busybox', lambda arch: b'\x7fELF' + b'x' * 5))

    def archive(self, **options) -> bytes:
        target = guest.initramfs(self.built, 'x', 'say hello\n', **options)
        return gzip.decompress(target.read_bytes())

    def listed(self, data: bytes) -> dict[str, str]:
        done = subprocess.run(['cpio', '-t', '-v'], input=data, check=True,
                              capture_output=True)
        self.assertNotIn(b'cpio: ', done.stderr)
        return {line.split()[-1]: line.split()[0]
                for line in done.stdout.decode().splitlines()}

    def test_what_is_in_it(self) -> None:
        module = self.write('deep/in/a-b.ko', 'module')
        listed = self.listed(self.archive(modules=[module],
                                          files={'/etc/x/y': module}))
        self.assertEqual(listed, {
            'dev': 'drwxr-xr-x', 'dev/console': 'crw-------',
            'bin': 'drwxr-xr-x', 'bin/busybox': '-rwxr-xr-x',
            'init': '-rwxr-xr-x', 'lib.sh': '-rw-r--r--',
            'job': '-rw-r--r--', 'modules': 'drwxr-xr-x',
            'modules/a-b.ko': '-rw-r--r--', 'etc': 'drwxr-xr-x',
            'etc/x': 'drwxr-xr-x', 'etc/x/y': '-rwxr-xr-x'})

    def test_contents_come_back(self) -> None:
        out = self.tmp / 'out'
        out.mkdir()
        subprocess.run(['cpio', '-i', '--quiet', '-d', 'job', 'lib.sh',
                        'bin/*'], input=self.archive(), check=True, cwd=out)
        self.assertEqual((out / 'job').read_text(), 'say hello\n')
        self.assertEqual((out / 'lib.sh').read_bytes(),
                         (guest.GUEST / 'lib.sh').read_bytes())
        self.assertEqual((out / 'bin/busybox').read_bytes(),
                         b'\x7fELFxxxxx')
        self.assertEqual(
            stat.S_IMODE((out / 'bin/busybox').stat().st_mode), 0o755)

    def test_a_module_that_was_not_built(self) -> None:
        self.write('samples/there.ko', '')
        self.assertEqual([p.name for p in guest.shipped(self.built, 'there')],
                         ['there.ko'])
        with self.refused('no absent below', 'fragment'):
            guest.shipped(self.built, 'there', 'absent')
