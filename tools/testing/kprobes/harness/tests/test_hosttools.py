# SPDX-License-Identifier: GPL-2.0
"""HOST_TOOLS=1: which tools of a machine will do, and what is said if not."""

import subprocess
from unittest import mock

import env
import hosttools
import source
import toolchain
from tests import support
from tests.test_shell import Shell

_RUSTC = '''case $* in
*sysroot*) echo {root} ;;
-vV) echo "rustc 1.96.1"; echo "LLVM version: {llvm}.1.8" ;;
*) echo "rustc {version} (31fca3adb 2026-06-26)" ;;
esac'''


class Machine(support.Case):
    """A machine that has what its PATH, a folder of scripts, gives."""

    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.dict('os.environ', {
            'PATH': str(self.tmp / 'bin'), 'ARCH': '', 'PIECE': ''}))
        self.enterContext(mock.patch.object(
            hosttools, '_LLVM_FOLDER', str(self.tmp / 'llvm-{}/bin')))
        self.programs = {
            name for group in hosttools._PROGRAMS.values()
            for name, _ in hosttools._pairs(group)}
        self.llvm = dict(hosttools._pairs(hosttools._LLVM))
        for name in self.programs | {'python3'}:
            self.program(name, 'tool without a version')
        self.program('bindgen', 'bindgen 0.72.1')
        self.program('qemu-system-x86_64', 'QEMU emulator version 10.0.13')
        for name in self.llvm:
            self.program(name, 'Debian clang version 22.1.8 (1~deb13u4)')
        self.rustc()
        self.write('rust/lib/rustlib/src/rust/library/core/src/lib.rs', '')

    def program(self, name, text, folder='bin'):
        if not text.startswith('case '):
            text = f'echo "{text}"'
        self.write(f'{folder}/{name}', f'#!/bin/sh\n{text}\n').chmod(0o755)

    def without(self, *names):
        for name in names:
            (self.tmp / 'bin' / name).unlink()

    def rustc(self, version='1.96.1', llvm=22):
        self.program('rustc', _RUSTC.format(root=self.tmp / 'rust',
                                            version=version, llvm=llvm))

    def refusal(self, command='test', **variables):
        """{what is wrong: the rest of its line}."""
        try:
            with mock.patch.dict('os.environ', variables):
                hosttools.check(command)
        except env.Refusal as refusal:
            self.assertIn('leave HOST_TOOLS unset', refusal.do)
            self.assertIn(f'make {command}', refusal.expected)
            return dict(line.strip().split(': ', 1)
                        for line in refusal.found.split('\n'))
        return {}

    def test_all_that_is_missing_is_told_at_once(self):
        for command in ('test', 'apply', 'clean', 'run'):
            self.assertEqual(self.refusal(command), {})
        self.without(*self.programs, *self.llvm, 'qemu-system-x86_64',
                     'python3')
        told = self.refusal()
        self.assertEqual(set(told), {
            *self.programs, *self.llvm, 'qemu-system-x86_64', 'rust-src',
            'libelf-dev', 'libdw-dev', 'libssl-dev', 'zlib1g-dev',
            'pyflakes3', 'pycodestyle'})
        for line in told.values():
            self.assertRegex(line, r'^expected .+, found none; apt-get install '
                             r'\S+$')

    def test_versions_that_will_not_do(self):
        self.rustc('1.94.9', 23)
        self.program('bindgen', 'bindgen 0.71.1')
        self.program('qemu-system-x86_64', 'QEMU emulator version 9.2.0')
        self.program('llvm-nm', 'Debian LLVM version 23.1.7')
        told = self.refusal()
        for name, line in (
                ('rustc', 'expected 1.95.0 or later, found 1.94.9; apt-get '
                 'install rustc'),
                ('bindgen', 'expected 0.72.1 or later, found 0.71.1; apt-get '
                 'install bindgen'),
                ('qemu-system-x86_64', 'expected 10.x, found 9.2.0; apt-get '
                 'install qemu-system-x86'),
                ('ld.lld', 'expected 23.x, found 22.1.8; apt-get install '
                 'lld-23')):
            self.assertEqual(told.pop(name), line)
        self.assertEqual(set(told), set(self.llvm) - {'ld.lld', 'llvm-nm'})

    def test_each_command_needs_its_own(self):
        self.assertEqual(list(self.refusal('run', ARCH='s390x')),
                         ['qemu-system-s390x'])
        self.assertEqual(len(self.refusal('test-all')), 3)
        self.assertEqual(self.refusal('test-all', PIECE='rust-x86_64'), {})
        self.without('qemu-system-x86_64')
        self.assertEqual(list(self.refusal('kunit')), ['qemu-system-x86_64'])
        self.assertEqual(self.refusal('kernel'), {})
        self.without('clang', 'bindgen', 'flex')
        for command in ('host-test', 'host-fuzz', 'host-miri', 'check'):
            self.assertEqual(self.refusal(command), {})
        # Only with HOST_TOOLS=1.
        toolchain.require('kernel')
        with mock.patch.object(env, 'HOST_TOOLS', True), \
                self.refused('flex', 'make kernel'):
            toolchain.require('kernel')

    def test_the_kernels_own_check_of_rusts_tools(self):
        self.enterContext(mock.patch.object(env, 'HOST_TOOLS', True))
        self.enterContext(mock.patch.object(source, 'tree',
                                            lambda: 'a-tree'))
        self.enterContext(mock.patch.object(
            hosttools.procs, 'tied', lambda command: map(str, command)))
        toolchain.ready()
        # A warning, for which it succeeds.
        self.program('make', '***   libclang version: 19.1.7')
        with self.refused('***   libclang version: 19', 'LIBCLANG_PATH='):
            toolchain.ready()
        self.program('make', 'case x in *) echo failed; exit 2 ;; esac')
        with self.refused('failed'):
            toolchain.ready()


class Environment(Shell):
    """kp with HOST_TOOLS=1, before the harness."""

    def kp(self, python, **variables):
        self.program('python3', python)
        return subprocess.run(
            ['bash', env.KPROBES / 'kp', 'check'], check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, env={
                'PATH': f'{self.tmp}/bin:/usr/bin:/bin', 'HOME': '/home/u',
                'CACHE': str(self.tmp / 'kp'), 'HOST_TOOLS': '1',
                **variables})

    def test_nothing_of_the_users_environment(self):
        done = self.kp('[ "$1" = -c ] || exec env', CFLAGS='-O0', V='1',
                       MAKEFLAGS='-j9', RUSTFLAGS='-g', ARCH='arm',
                       LANG='de_DE', http_proxy='http://p',
                       LIBCLANG_PATH='/opt/lib')
        self.assertEqual(done.returncode, 0, done.stdout)
        seen = dict(line.split('=', 1) for line in done.stdout.splitlines())
        self.assertLessEqual(
            {'V': '1', 'ARCH': 'arm', 'http_proxy': 'http://p',
             'LIBCLANG_PATH': '/opt/lib', 'LC_ALL': 'C.UTF-8',
             'HOST_TOOLS': '1', 'KP_CACHE': str(self.tmp / 'kp')
             }.items(), seen.items())
        self.assertNotEqual(seen['HOME'], '/home/u')
        for name in ('CFLAGS', 'MAKEFLAGS', 'RUSTFLAGS', 'LANG'):
            self.assertNotIn(name, seen)

    def test_a_python_too_old(self):
        done = self.kp('case $2 in *"< (3, 11)"*) exit 1 ;; *) echo 3.9.2 ;; '
                       'esac')
        self.assertEqual(done.returncode, 2)
        self.assertIn('expected: python3 3.11 or later', done.stdout)
        self.assertIn('found:    3.9.2', done.stdout)
