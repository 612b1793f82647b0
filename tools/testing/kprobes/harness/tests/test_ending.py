# SPDX-License-Identifier: GPL-2.0
"""However a command is ended, nothing of it goes on."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import env
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
# A command that runs two programs, each in a thread of its own.
_COMMAND = '''
import pathlib, sys, threading
import cli, procs
folder = pathlib.Path(sys.argv[1])
def run(name):
    procs.run(['flock', '-s', folder / 'lock', 'sh', '-c',
               f'echo >{folder}/{name}; sleep 60 & wait'], folder / 'log')
def work():
    threading.Thread(target=run, args=['first']).start()
    run('second')
cli._COMMANDS['kernel'] = work
sys.argv = ['kp', 'kernel']
cli.end(cli.main())
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

    def test_a_termination_ends_both(self) -> None:
        process = self.attend('import os, time\n'
                              'print("ready", input(), flush=True)\n'
                              'print(os.getpid(), flush=True)\n'
                              'time.sleep(60)')
        child = process.stdout.readline().strip()
        process.terminate()
        process.wait(timeout=20)
        self.until(lambda: state(child) == 'gone', 'the command goes on')


class Threads(Ending):
    def test_an_interrupt_ends_the_programs_of_all_threads(self) -> None:
        ready = [self.tmp / 'first', self.tmp / 'second']
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, -15),
                               (signal.SIGHUP, -1)):
            # As kp does: the command is process 1 of its namespace.
            process = self.started(
                ['unshare', '--pid', 'bash', _ATTEND, sys.executable, '-c',
                 _COMMAND, self.tmp],
                env={**os.environ, 'ARCH': '', 'TEST': '',
                     'PYTHONPATH': str(env.HARNESS),
                     'KP_WORK': str(env.WORK), 'KP_CACHE': str(env.CACHE)},
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.until(lambda: all(path.exists() for path in ready),
                       'no two programs were started')
            process.send_signal(number)
            out, _ = process.communicate(timeout=30)
            self.assertEqual(process.returncode, status, out)
            self.assertNotIn('Traceback', out)
            subprocess.run(['flock', '-w', '20', self.tmp / 'lock', 'true'],
                           check=True)
            for path in ready:
                path.unlink()
