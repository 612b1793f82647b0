# SPDX-License-Identifier: GPL-2.0
"""What is made of a guest's console: recorded ones, and machines that hang."""

import os
from unittest import mock

import env
import guest
import guests
import qemu
import results
from tests import support

_PASSES = '''\
[    1.0] KTAP version 1
[    1.1] 1..1
[    1.2]     KTAP version 1
[    1.2]     # Subtest: suite
[    1.2]     1..2
[    1.3]     ok 1 right
[    1.4]     ok 2 other
[    1.5] # suite: pass:2 fail:0 skip:0 total:2
[    1.5] ok 1 suite
'''
_FAILS = _PASSES.replace(
    '    ok 2 other', '    # other: EXPECTATION FAILED at suite.c:8\n'
    '[    1.4]     not ok 2 other').replace('ok 1 suite', 'not ok 1 suite')
_END = '[    2.0] guest: done\n'
_DEATHS = (
    'Kernel panic - not syncing: sysrq triggered crash',
    'Oops: int3: 0000', 'vfs: Oops: 5', 'traps: double fault',
    'kernel BUG at mm/slub.c:1!', 'invalid opcode: 0 [#1]',
    'BUG: Unable to handle kernel data access', 'Internal error: 1')
_SPLATS = (
    'WARNING: CPU: 0 at x.c:1', 'BUG: spinlock bad magic',
    'possible circular locking', 'suspicious RCU usage',
    'sleeping function called from invalid context', 'KASAN: null-ptr-deref',
    'UBSAN: shift-out-of-bounds', 'INFO: task insmod:1 blocked',
    'INFO: rcu_preempt detected stalls', 'traps: general protection fault',
    'unreferenced object 0xffff (size 8)')


class Machine(support.Case):
    """A machine that runs a shell script in QEMU's place."""

    def setUp(self) -> None:
        super().setUp()
        self.write('.config', '')
        for module, name in ((qemu, 'accelerator'), (guest, 'initramfs')):
            self.replace((module, name, mock.Mock(return_value='tcg')))

    def boot(self, script: str, **options) -> qemu.Console:
        with mock.patch.object(qemu, 'command', return_value=['sh', '-c', script]):
            return qemu.boot(self.built_kernel(impl='c'), 'initramfs', name='x', **options)

    def kunit(self, console: str) -> list[str]:
        """What `make kunit` says at the end of a guest with CONSOLE."""
        path = self.write('console', console)
        with mock.patch.object(qemu, 'command', return_value=['cat', path]):
            results_of_boot = guests.kunit_tests(self.built_kernel(impl='c'))
        self.said = self.printed.getvalue()
        self.printed.truncate(0)
        self.printed.seek(0)
        tally = results.Tally()
        tally.add(results_of_boot)
        self.status = tally.close()
        # What to do about a failure: see test_results.py.
        return [line.partition(' (again: ')[0] for line in self.printed.getvalue().splitlines()]

    def test_each_end(self) -> None:
        dies = f'[    1.6] {_DEATHS[0]}'
        for console, *failure, passes in (
                (_PASSES + _END, 3),
                (f'{_PASSES}{dies}\n{_END}',
                 f'boot: the kernel died: {_DEATHS[0]}', 2),
                (_PASSES, 'boot: the guest ended without its last word', 2),
                ('', 'boot: the guest printed nothing at all', 0),
                (_FAILS + _END, 'suite.other: other: '
                 'EXPECTATION FAILED at suite.c:8', 2),
                (_PASSES.replace('ok 2 other', 'o') + _END,
                 'suite.plan: 2 results announced, 1 came', 2),
                *((f'{_PASSES}[    1.6] {splat}\n{_END}',
                   f'no-splat: {splat}', 2) for splat in _SPLATS)):
            with self.subTest(console):
                lines = [line for line in self.kunit(console)
                         if not line.startswith('nothing passed')]
                self.assertEqual((lines, self.status), (
                    [*(f'FAILED x86_64.c.{why}' for why in failure),
                     f'{passes} passed, {len(failure)} failed, 0 skipped'],
                    len(failure)))
        # The lines after a splat are printed, since a later boot replaces the console.
        self.assertIn(f'{_SPLATS[-1]}\nguest: done', self.said)
        self.assertIn(f'the whole console: {env.LOGS}/x86_64-c-test-kunit'
                      '.console', self.stderr.getvalue())

    def test_console_of_the_boot_before_stays(self) -> None:
        for word in 'first', 'second', 'third':
            log = self.boot(f'echo {word}; echo {qemu.DONE}').log
        self.assertEqual(log.with_suffix('.console.before').read_text(), f'second\n{qemu.DONE}\n')

    def test_each_way_to_die(self) -> None:
        for death in _DEATHS:
            console = qemu.Console(self.tmp)
            for line in death, 'and on', qemu.DONE:
                console.add(line.encode())
            self.assertEqual(console.trouble(), f'the kernel died: {death}')
            self.assertEqual(console.splats, [])

    def test_silence_and_words_without_end(self) -> None:
        checked = 'CONFIG_KASAN=y\n'
        for config, why, script, options in (
                ('', 'it printed nothing for 0.5 s', 'sleep 60',
                 {'silence': 0.5}),
                # A slow kernel is waited for.
                (checked, 'it printed nothing for 1.2 s', 'sleep 60',
                 {'silence': 0.3}),
                ('', 'it was still running at the time limit',
                 'while :; do echo talks on; sleep 0.1; done',
                 {'timeout': 0.5})):
            self.write('.config', config)
            with self.refused(f'the guest hangs: {why}', 'said before'):
                self.boot(f'echo said before; {script}', **options)
            with self.assertRaises(ChildProcessError):
                os.waitpid(-1, os.WNOHANG)
