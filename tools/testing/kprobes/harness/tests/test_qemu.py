# SPDX-License-Identifier: GPL-2.0
"""What is made of a guest's console: recorded ones, and machines that hang."""

import contextlib
import io
from unittest import mock

import env
import guest
import guests
import kernel
import procs
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
    'Oops: int3: 0000', 'vfs: Oops: 5',
    'traps: double fault', 'kernel BUG at mm/slub.c:1!',
    'Unable to handle kernel paging request at 0', 'invalid opcode: 0 [#1]',
    'BUG: Unable to handle kernel data access', 'Internal error: 1')
_SPLATS = (
    'WARNING: CPU: 0 at x.c:1', 'BUG: KASAN: slab-use-after-free in f',
    'WARNING: possible circular locking dependency detected',
    'possible circular locking', 'suspicious RCU usage',
    'sleeping function called from invalid context', 'KASAN: null-ptr-deref',
    'UBSAN: shift-out-of-bounds', 'INFO: task insmod:1 blocked',
    'INFO: rcu_preempt detected stalls', 'traps: general protection fault',
    'unreferenced object 0xffff (size 8)', 'BUG: spinlock bad magic')


class Machine(support.Case):
    """A machine that runs a shell script in QEMU's place."""

    def setUp(self) -> None:
        super().setUp()
        self.built = kernel.Built('x86_64', 'c', 'test', self.tmp, self.tmp,
                                  self.tmp, '7.3')
        self.write('.config', '')
        for module, name in ((qemu, 'accelerator'), (guest, 'initramfs')):
            self.enterContext(mock.patch.object(module, name,
                                                return_value='tcg'))
        self.stderr = self.enterContext(
            contextlib.redirect_stderr(io.StringIO()))

    def boot(self, script: str, **options) -> qemu.Console:
        with mock.patch.object(qemu, 'command',
                               return_value=['sh', '-c', script]):
            return qemu.boot(self.built, 'initramfs', name='x', **options)

    def kunit(self, console: str) -> list[str]:
        """What `make kunit` says at the end of a guest with CONSOLE."""
        path = self.write('console', console)
        with mock.patch.object(qemu, 'command', return_value=['cat', path]):
            results_of_boot = guests.kunit_tests(self.built)
        self.printed.truncate(0)
        self.printed.seek(0)
        tally = results.Tally()
        tally.add(results_of_boot)
        self.status = tally.close()
        # What to do about a failure: see test_results.py.
        return [line.partition(' (again: ')[0]
                for line in self.printed.getvalue().splitlines()]


class Recorded(Machine):
    def fails(self, console: str, *expected: str) -> None:
        self.assertEqual((self.kunit(console), self.status),
                         (list(expected), 1))

    def test_a_good_boot(self) -> None:
        self.assertEqual((self.kunit(_PASSES + _END), self.status),
                         (['3 passed, 0 failed, 0 skipped'], 0))

    def test_a_panic_in_the_middle(self) -> None:
        self.fails(
            f'{_PASSES}[    1.6] {_DEATHS[0]}\n{_END}',
            f'FAILED x86_64.c.boot: the kernel died: {_DEATHS[0]}',
            '2 passed, 1 failed, 0 skipped')
        self.assertIn(_DEATHS[0], self.stderr.getvalue())
        self.assertIn(f'the whole console: {env.LOGS}/x86_64-c-test-kunit'
                      '.console', self.stderr.getvalue())

    def test_an_end_without_the_last_word(self) -> None:
        self.fails(_PASSES, 'FAILED x86_64.c.boot: the guest ended without '
                   'its last word', '2 passed, 1 failed, 0 skipped')

    def test_no_word_at_all(self) -> None:
        self.fails('', 'FAILED x86_64.c.boot: the guest printed nothing at '
                   'all', 'nothing passed: a run without one passed test '
                   'proves nothing and counts as failed',
                   '0 passed, 1 failed, 0 skipped')

    def test_a_case_that_fails(self) -> None:
        self.fails(_FAILS + _END, 'FAILED x86_64.c.suite.other: other: '
                   'EXPECTATION FAILED at suite.c:8',
                   '2 passed, 1 failed, 0 skipped')

    def test_a_case_whose_line_is_lost(self) -> None:
        self.fails(_PASSES.replace('ok 2 other', 'o') + _END,
                   'FAILED x86_64.c.suite.plan: 2 results announced, 1 came',
                   '2 passed, 1 failed, 0 skipped')

    def test_each_complaint_of_the_kernel(self) -> None:
        for splat in _SPLATS:
            self.fails(f'{_PASSES}[    1.6] {splat}\n{_END}',
                       f'FAILED x86_64.c.no-splat: {splat}',
                       '2 passed, 1 failed, 0 skipped')

    def test_each_way_to_die(self) -> None:
        for death in _DEATHS:
            transcript = qemu.Transcript()
            for line in death, 'and on', qemu.DONE:
                transcript.add(line.encode())
            self.assertEqual(transcript.trouble(),
                             f'the kernel died: {death}')
            self.assertEqual(transcript.splats, [])


class Hanging(Machine):
    def hangs(self, why: str, script: str, **options) -> None:
        with self.refused(f'the guest hangs: {why}', 'said before'):
            self.boot(f'echo said before; {script}', **options)
        self.assertEqual(procs._running, set())

    def test_silence(self) -> None:
        self.hangs('it printed nothing for 0.5 s', 'sleep 60', silence=0.5)

    def test_silence_of_a_slow_kernel(self) -> None:
        self.write('.config', 'CONFIG_KASAN=y\n')
        self.hangs('it printed nothing for 1.2 s', 'sleep 60', silence=0.3)

    def test_words_without_end(self) -> None:
        self.hangs('it was still running at the time limit',
                   'while :; do echo talks on; sleep 0.1; done', timeout=0.5)


class Lines(support.Case):
    def test_they_are_cleaned(self) -> None:
        for raw, text in (
                (b'[    1.234567] ok 1 a\r', 'ok 1 a'),
                (b'[    1.234567]     ok 1 a', '    ok 1 a'),
                (b'[    1.2][   T1]     ok 1 a', '    ok 1 a'),
                (b'[    1.2][    C0] x', 'x'),
                (b'<6>[    1.2] x', 'x'),
                (b'\x1b[2J\x1b[1;1Hx', 'x'),
                (b'\xff', '\ufffd')):
            self.assertEqual(qemu.clean(raw), text)


class Command(support.Case):
    """How QEMU is called, and how its console meets a terminal."""

    def setUp(self) -> None:
        super().setUp()
        self.write('.config', '')

    def built(self, arch: str = 'x86_64') -> kernel.Built:
        return kernel.Built(arch, 'rust', 'test', self.tmp, self.tmp,
                            self.tmp, '7.3')

    def test_the_keys_that_leave_a_shell_work_everywhere(self) -> None:
        for arch in env.ARCHES:
            text = ' '.join(qemu.on_terminal(qemu.command(
                self.built(arch), 'initramfs', interactive=True)))
            if arch == 's390x':
                self.assertIn('-chardev stdio,id=c0,mux=on,signal=off '
                              '-mon chardev=c0,mode=readline', text)
                self.assertIn('-device sclpconsole,chardev=c0', text)
            else:
                self.assertIn('-serial mon:stdio', text)
        self.assertIn('Ctrl-A x', qemu.LEAVE)
        self.assertIn('Ctrl-A x',
                      (guest.GUEST / 'jobs/shell.sh').read_text())

    def test_a_test_boot_shares_nothing(self) -> None:
        for arch in env.ARCHES:
            text = ' '.join(qemu.command(self.built(arch), 'initramfs'))
            self.assertNotIn('mux=on', text)
            self.assertNotIn('mon', text.replace('c0', ''))

    def test_a_kernel_with_checkers_is_waited_for(self) -> None:
        for config, factor, words in (('CONFIG_KASAN_INLINE=y', 1, 'a b'),
                                      ('CONFIG_KASAN=y', 4, 'no5lvl a b')):
            self.write('.config', f'{config}\n')
            self.assertEqual(qemu.patience(self.built()), factor)
            self.assertEqual(qemu.words_for(self.built(), 'a b'), words)
