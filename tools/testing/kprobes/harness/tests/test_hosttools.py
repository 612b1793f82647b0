# SPDX-License-Identifier: GPL-2.0
"""HOST_TOOLS=1: which tools of a machine will do, and what is said if not."""

import os
import subprocess
from unittest import mock

import cli
import env
import guest
import hosttools
import toolchain
from tests import support
from tests.test_shell import Shell

_LLVM = '''for word; do [ "$last" = -o ] && : >"$word"; last=$word; done
echo "Debian clang version {}.1.8 (1~deb13u4)"'''
_RUSTC = '''case $* in
*sysroot*) echo {root} ;;
-vV) echo "rustc 1.96.1"; echo "LLVM version: {llvm}.1.8" ;;
*) echo "rustc {version} (31fca3adb 2026-06-26)" ;;
esac'''
_BINDGEN = '''case $1 in
--version) echo "bindgen {}" ;;
*) echo "x.h:1:9: warning: clang version {}.1.8 [-W#pragma-messages]" >&2 ;;
esac'''
_SAY = {
    'cargo': 'cargo 1.96.1', 'rustdoc': 'rustdoc 1.96.1',
    'rustfmt': 'rustfmt 1.9.0-stable', 'clippy-driver': 'clippy 0.1.96',
    'cargo-clippy': 'clippy 0.1.96', 'cc': 'cc (Debian) 14.2.0',
    'make': 'GNU Make 4.4.1', 'flex': 'flex 2.6.4', 'bison': 'bison 3.8.2',
    'bc': 'bc 1.07.1', 'perl': 'This is perl 5, version 40 (v5.40.1)',
    'ccache': 'ccache version 4.11.2', 'openssl': 'Invalid command',
    'rsync': 'rsync  version 3.4.1', 'cmp': 'cmp 3.10', 'tar': 'tar 1.35',
    'xz': 'xz 5.8.1', 'dpkg-deb': 'version 1.22', 'patch': 'GNU patch 2.8',
    'git': 'git version 2.47.3', 'cpio': 'cpio 2.15',
    'shellcheck': 'ShellCheck 0.10.0', 'python3': 'Python 3.13.5',
    'qemu-system-x86_64': 'QEMU emulator version 10.0.13',
}


class Machine(support.Case):
    """A machine that has what its PATH, a folder of scripts, gives."""

    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.dict('os.environ', {
            'PATH': str(self.tmp / 'bin'), 'ARCH': '', 'PIECE': ''}))
        self.enterContext(mock.patch.object(
            hosttools, '_LLVM_FOLDER', str(self.tmp / 'llvm-{}/bin')))
        self.enterContext(mock.patch.object(guest, 'PACKAGED', self.tmp))
        for name, text in _SAY.items():
            self.program(name, f'echo "{text}"')
        self.rustc()
        self.write('rust/lib/rustlib/src/rust/library/core/src/lib.rs', '')
        for name, _ in hosttools._LLVM:
            self.program(name, _LLVM.format(22))
        self.program('bindgen', _BINDGEN.format('0.72.1', 22))
        self.write('cache/guest/busybox-static_1_amd64.deb', '')

    def program(self, name, text, folder='bin'):
        self.write(f'{folder}/{name}', f'#!/bin/sh\n{text}\n').chmod(0o755)

    def rustc(self, version='1.96.1', llvm=22):
        self.program('rustc', _RUSTC.format(root=self.tmp / 'rust',
                                            version=version, llvm=llvm))

    def check(self, command='test', **variables):
        with mock.patch.dict('os.environ', variables):
            hosttools.check(command)

    def refusal(self, command='test', **variables):
        """The lines of what is wrong."""
        try:
            self.check(command, **variables)
        except env.Refusal as refusal:
            self.assertIn('leave HOST_TOOLS unset', refusal.do)
            self.assertIn(f'make {command}', refusal.expected)
            return [line.strip() for line in refusal.found.split('\n')]
        return []

    def test_a_machine_with_everything(self):
        for command in cli._COMMANDS:
            if command != 'test-all':
                name = command.replace('-only', '')
                self.assertEqual(self.refusal(name), [])

    def test_all_that_is_missing_is_told_at_once(self):
        missing = {*_SAY, 'rustc', 'bindgen',
                   *(name for name, _ in hosttools._LLVM)}
        for name in missing:
            (self.tmp / 'bin' / name).unlink()
        lines = self.refusal()
        told = {line.split(':')[0].removeprefix('python3 -m ')
                for line in lines}
        self.assertEqual(missing - told, {'python3'})
        self.assertLessEqual({'rust-src', 'libelf', 'libdw', 'libcrypto',
                              'libz', 'pyflakes', 'pycodestyle'}, told)
        for line in lines:
            self.assertRegex(line, r'^[^:]+.*: expected .+, found .+; .+')

    def test_versions_too_old(self):
        for name, text, line in (
                ('flex', 'flex 2.5.34', 'flex: expected 2.5.35 or later, '
                 'found 2.5.34; apt-get install flex'),
                ('clippy-driver', 'clippy 0.1.85', 'clippy-driver: expected '
                 '0.1.95 or later, found 0.1.85; apt-get install '
                 'rust-clippy'),
                ('make', 'something else', 'make: expected 4.0 or later, '
                 'found one that tells no version; apt-get install make'),
                ('bindgen', 'bindgen 0.71.1', 'bindgen: expected 0.72.1 or '
                 'later, found 0.71.1; cargo install --locked bindgen-cli '
                 '--version 0.72.1')):
            before = (self.tmp / 'bin' / name).read_text()
            self.program(name, f'echo "{text}"')
            self.assertEqual(self.refusal(), [line])
            self.program(name, before)

    def test_rustc_as_the_architecture_needs_it(self):
        self.rustc('1.95.0')
        self.assertEqual(self.refusal('kernel'), [])
        self.assertEqual(self.refusal('kernel', ARCH='s390x'),
                         ['rustc: expected 1.96.0 or later, found 1.95.0; '
                          'apt-get install rustc (or rustup)'])

    def test_no_source_of_the_standard_library(self):
        (self.tmp / 'rust/lib/rustlib/src/rust/library/core/src/lib.rs'
         ).unlink()
        line, = self.refusal()
        self.assertIn('rustup component add rust-src', line)

    def test_one_llvm_major(self):
        self.program('llvm-objcopy', 'echo "Debian LLVM version 19.1.7"')
        self.program('bindgen', _BINDGEN.format('0.72.1', 19))
        self.assertEqual(self.refusal(), [
            'llvm-objcopy: expected 22.x, the LLVM of rustc -vV, found '
            '19.1.7; apt-get install llvm-22',
            'libclang of bindgen: expected 22.x, the LLVM of rustc -vV, '
            'found 19; apt-get install libclang-22-dev, or '
            'LIBCLANG_PATH=/usr/lib/llvm-22/lib'])

    def test_debians_folder_of_that_llvm_comes_first(self):
        self.rustc(llvm=23)
        self.assertEqual(len(self.refusal('kernel')), 9)
        for name, _ in hosttools._LLVM:
            self.program(name, _LLVM.format(23), 'llvm-23/bin')
        self.program('bindgen', _BINDGEN.format('0.73.0', 23))
        hosttools.check('kernel')
        self.assertTrue(os.environ['PATH'].startswith(
            f'{self.tmp}/llvm-23/bin:'))

    def test_the_emulator_of_the_architecture_in_use(self):
        lines = self.refusal('run', ARCH='s390x')
        self.assertEqual([line.split(':')[0] for line in lines],
                         ['qemu-system-s390x', 'busybox-static'])
        self.program('qemu-system-x86_64',
                     'echo "QEMU emulator version 9.2.0"')
        line, = self.refusal('run')
        self.assertIn('expected 10.x', line)
        self.assertIn('found 9.2.0; apt-get install qemu-system-x86', line)
        self.assertEqual(self.refusal('kernel'), [])

    def test_the_matrix_needs_all_emulators(self):
        self.assertEqual(
            sum(line.startswith('qemu-system')
                for line in self.refusal('test-all')), 3)
        self.assertEqual(self.refusal('test-all', PIECE='rust-x86_64'), [])

    def test_a_library(self):
        self.program('clang', 'case $* in *-lelf*) echo "gelf.h: not found" '
                     ';; *)\n' + _LLVM.format(22) + '\nesac')
        self.assertEqual(self.refusal(), [
            'libelf: expected <gelf.h> and -lelf, found "gelf.h: not found"; '
            'apt-get install libelf-dev'])

    def test_each_command_needs_its_own(self):
        for name in ('clang', 'bindgen', 'qemu-system-x86_64', 'flex'):
            (self.tmp / 'bin' / name).unlink()
        self.assertEqual(self.refusal('check'), [])
        self.assertEqual(self.refusal('host-test'), [])
        (self.tmp / 'bin/shellcheck').unlink()
        self.assertEqual(self.refusal('check'), [
            'shellcheck: expected any version, found none; apt-get install '
            'shellcheck'])

    def test_asked_only_with_host_tools(self):
        (self.tmp / 'bin/flex').unlink()
        toolchain.require('kernel')
        self.enterContext(mock.patch.object(env, 'HOST_TOOLS', True))
        with self.refused('flex', 'make kernel'):
            toolchain.require('kernel')

    def test_host_tests_boot_nothing(self):
        for name in _SAY:
            if name.startswith('qemu-'):
                (self.tmp / 'bin' / name).unlink()
        for command in ('host-test', 'host-fuzz', 'host-bench', 'host-miri',
                        'check'):
            hosttools.check(command)
        with self.refused('qemu-system-x86_64: expected 10.x'):
            hosttools.check('kunit')


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
