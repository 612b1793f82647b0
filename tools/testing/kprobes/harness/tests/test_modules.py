# SPDX-License-Identifier: GPL-2.0
"""make module: what the guest says of loading and unloading, and who listens."""

import subprocess
import types
from unittest import mock

import modules
from tests import support

# The guest's own commands, on a machine that has no kernel to spare.
_GUEST = '''
mark() { say "mark: $1"; }
say() { echo "$*"; }
show() { sed 's/^/| /'; }
load() { %s; }
rmmod() { %s; }
sleep() { :; }
KPROBES=.
'''


class Module(support.Case):
    warned = ()

    def said(self, load, rmmod):
        """What the job says where load and rmmod do this."""
        job = modules._job(['self'], '').replace('/sys/module/self',
                                                 f'{self.tmp}/loaded')
        done = subprocess.run(
            ['sh', '-c', _GUEST % (load, rmmod) + job.replace(
                '<$KPROBES/list', '</dev/null')], text=True, check=True,
            capture_output=True, cwd=self.tmp)
        return done.stdout.splitlines()

    def run_with(self, lines):
        built = types.SimpleNamespace(arch='x86_64', impl='rust')
        for where, name, answer in (
                (modules.kernel, 'external', [self.tmp / 'self.ko']),
                (modules.kernel, 'warned', self.warned),
                (modules.guest, 'initramfs', None),
                (modules.qemu, 'boot', types.SimpleNamespace(
                    lines=lines, splats=[], log=self.tmp / 'console'))):
            self.enterContext(mock.patch.object(
                where, name, mock.Mock(return_value=answer)))
        return modules.run(built, self.tmp)

    def test_it_comes_and_goes(self):
        lines = self.said(f': >{self.tmp}/loaded', f'rm {self.tmp}/loaded')
        self.assertIn('loaded self', lines)
        self.assertIn('unloaded self', lines)
        self.assertEqual(self.run_with(lines), lines)

    def test_it_does_not_load(self):
        lines = self.said('echo no; false', 'false')
        self.assertEqual([line for line in lines if line.startswith('stayed')],
                         [])
        with self.refused('self to load', 'refused self: no'):
            self.run_with(lines)

    def test_what_was_refused_is_shown(self):
        self.write('refused', 'nothing+0x0/0x0  -2  no such symbol\n')
        lines = self.said('false', 'false')
        at = lines.index('$ cat kprobes/refused')
        self.assertEqual(lines[at + 1],
                         '| nothing+0x0/0x0  -2  no such symbol')
        self.write('refused', '')
        self.assertNotIn('$ cat kprobes/refused', self.said(':', ':'))

    def test_warnings_are_shown(self):
        self.warned = ['warning: unused variable']
        self.run_with(['mark: module'])
        self.assertIn('warning: unused variable', self.printed.getvalue())

    def test_the_kernels_own_tests_do_not_run(self):
        self.run_with(['mark: module'])
        self.assertEqual(modules.qemu.boot.call_args.kwargs['cmdline'],
                         'kunit.enable=0')

    def test_it_does_not_unload(self):
        lines = self.said(f': >{self.tmp}/loaded', 'echo busy; false')
        with self.refused('self to unload', 'stayed self: busy',
                          'module_exit()'):
            self.run_with(lines)
