# SPDX-License-Identifier: GPL-2.0
"""However a command is ended, nothing of it goes on."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import env
import procs
from tests import support

_ATTEND = env.KPROBES / 'toolchain/attend.sh'
_TOLD = r'''
import os, signal, sys, time
def told(*_):
    os.write(1, b'told\n')     # print() may be at work already
    sys.exit(7)
signal.signal(signal.SIGINT, told)
print('ready', input(), flush=True)
time.sleep(60)
'''
# `make bench IMPL=c` with everything that takes long replaced, QEMU by a
# script of ours.
_BENCH = '''
import sys
from pathlib import Path
import bench, cli, guest, kernel
place = Path(sys.argv[1])
built = kernel.Built('x86_64', 'c', 'bench', place, place, place / 'image',
                     '7.3')
kernel.build = lambda *_: built
kernel.ours = lambda *_: []
kernel.Built.has = lambda *_: True
bench._plugin = lambda _: place / 'insncount.so'
guest.busybox = lambda _: b'busybox'
sys.argv = ['kp', 'bench']
sys.exit(cli.main())
'''
_QEMU = '''#!/bin/sh
sleep 60 &
echo $! $$ >>"$PIDS"
wait
'''


def state(process: str) -> str:
    """The letter of a process's state; gone where it is as good as dead."""
    try:
        text = Path(f'/proc/{process}/stat').read_text()
    except OSError:
        return 'gone'
    letter = text.rpartition(')')[2].split()[0]
    return 'gone' if letter in 'ZX' else letter


class Ending(support.Case):
    def until(self, done: Callable[[], bool], what: str) -> None:
        for _ in range(2000):
            if done():
                return
            time.sleep(0.01)
        self.fail(what)

    def started(self, command: list, **options) -> subprocess.Popen:
        # A job in the background of a script has SIGINT ignored, one under
        # nohup SIGHUP, and hands that down to all it starts. What is caught
        # is handed down as the default.
        before = {number: signal.signal(number, lambda *_: None)
                  for number in (signal.SIGINT, signal.SIGHUP)}
        process = subprocess.Popen(command, text=True, **options)
        for number, handler in before.items():
            signal.signal(number, handler)

        def end():
            process.kill()
            process.communicate()
        self.addCleanup(end)
        return process


class Attending(Ending):
    """The shell between kp and the harness."""

    def attend(self, script: str) -> subprocess.Popen:
        process = self.started(
            ['bash', _ATTEND, sys.executable, '-c', script],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdin.write('a line\n')
        process.stdin.flush()
        self.assertIn('ready a line', process.stdout.readline())
        return process

    def test_an_interrupt_to_the_shell_alone_goes_on(self) -> None:
        process = self.attend(_TOLD)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
        self.assertEqual((out.strip(), process.returncode), ('told', 7))

    def test_a_second_one_is_not_sat_out(self) -> None:
        process = self.attend(_TOLD.replace('sys.exit(7)', 'pass'))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.readline(), 'told\n')
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        self.assertEqual(process.returncode, 130)

    def test_a_termination_ends_both(self) -> None:
        process = self.attend('import os, time\n'
                              'print("ready", input(), flush=True)\n'
                              'print(os.getpid(), flush=True)\n'
                              'time.sleep(60)')
        child = process.stdout.readline().strip()
        process.terminate()
        process.wait(timeout=20)
        self.until(lambda: state(child) == 'gone', 'the command goes on')


class Programs(Ending):
    def test_nothing_is_left_when_we_stop(self) -> None:
        started: list[str] = []

        def stop(line):
            started.append(line)
            raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            procs.run(['sh', '-c', 'sleep 60 & echo $!; wait'],
                      self.tmp / 'log', on_line=stop)
        self.until(lambda: state(started[0]) == 'gone', 'it goes on')

    def test_what_runs_before_we_know_of_it_is_ended(self) -> None:
        started, real = [], subprocess.Popen

        def popen(*words, **options):
            started.append(real(*words, **options))
            os.kill(os.getpid(), signal.SIGINT)
            # Python's handler comes a moment later.
            time.sleep(0.1)
            return started[0]
        self.enterContext(mock.patch.object(procs.subprocess, 'Popen', popen))
        # Whoever runs us may have it ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        with self.assertRaises(KeyboardInterrupt):
            procs.start(['sleep', '60'])
        self.assertIn(started[0], procs._running)
        procs.kill(started[0])
        self.assertEqual(signal.getsignal(signal.SIGINT),
                         signal.default_int_handler)


class Machine(Ending):
    """What an interrupt of the command ends, in whatever thread it is."""

    def bench(self) -> tuple[subprocess.Popen, list[str]]:
        """The running command, and the processes of its two machines."""
        self.write('bin/qemu-system-x86_64', _QEMU).chmod(0o755)
        self.write('image', '')
        self.write('.config', '')
        pids = self.tmp / 'pids'
        process = self.started(
            [sys.executable, '-c', _BENCH, self.tmp],
            env={**os.environ, 'PIDS': str(pids),
                 'ARCH': 'x86_64', 'IMPL': 'c', 'PYTHONPATH': str(env.HARNESS),
                 'PATH': f'{self.tmp}/bin:{os.environ["PATH"]}',
                 'KP_WORK': str(env.WORK), 'KP_CACHE': str(env.CACHE)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.until(lambda: pids.exists()
                   and len(pids.read_text().split()) == 4,
                   'no two machines came up')
        return process, pids.read_text().split()

    def test_an_interrupt_ends_the_machines_of_all_threads(self) -> None:
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143),
                               (signal.SIGHUP, 129)):
            (self.tmp / 'pids').unlink(missing_ok=True)
            process, pids = self.bench()
            process.send_signal(number)
            out, _ = process.communicate(timeout=30)
            self.assertEqual(process.returncode, status, out)
            self.assertNotIn('Traceback', out)
            for pid in pids:
                self.until(lambda: state(pid) == 'gone',
                           f'{pid} goes on after {number}')
