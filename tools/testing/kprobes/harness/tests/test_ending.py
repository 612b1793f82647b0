# SPDX-License-Identifier: GPL-2.0
"""However a command is ended, nothing of it goes on."""

import os
import signal
import subprocess
import sys
import time

import env
from tests import support

_ATTEND = env.KPROBES / 'toolchain/attend.sh'
# A command that runs two programs, each in a thread of its own.
_COMMAND = '''
import pathlib, sys, threading
import cli, procs
folder = pathlib.Path(sys.argv[1])
def run(name):
    procs.run(['flock', '-s', folder / 'lock', 'sh', '-c',
               f'echo >{folder}/{name}; sleep 60 & wait'], folder / 'log')
def work():
    print('reads', input(), flush=True)
    threading.Thread(target=run, args=['first']).start()
    run('second')
cli._COMMANDS['kernel'] = work
sys.argv = ['kp', 'kernel']
cli.end(cli.main())
'''


class Threads(support.Case):
    """A command behind the shell between kp and the harness, which is told to end."""

    def started(self) -> subprocess.Popen:
        # A job in the background of a script has SIGINT ignored, one under
        # nohup SIGHUP, and hands that down to all it starts. What is caught
        # is handed down as the default.
        before = {number: signal.signal(number, lambda *_: None)
                  for number in (signal.SIGINT, signal.SIGHUP)}
        # As kp does: the command is process 1 of its namespace.
        process = subprocess.Popen(
            ['unshare', '--pid', 'bash', _ATTEND, sys.executable, '-c', _COMMAND, self.tmp],
            env={**os.environ, 'ARCH': '', 'TEST': '', 'PYTHONPATH': str(env.HARNESS),
                 'KP_WORK': str(env.WORK), 'KP_CACHE': str(env.CACHE)}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for number, handler in before.items():
            signal.signal(number, handler)

        def end() -> None:
            process.kill()
            process.communicate()
        self.addCleanup(end)
        process.stdin.write('a line\n')
        process.stdin.flush()
        return process

    def test_a_signal_to_the_shell_alone_ends_the_programs_of_all_threads(self) -> None:
        ready = [self.tmp / 'first', self.tmp / 'second']
        for number, status, message in (
                (signal.SIGINT, 130, 'interrupted; the same command goes on'),
                (signal.SIGTERM, -15, ''), (signal.SIGHUP, -1, '')):
            process = self.started()
            for _ in range(2000):
                if all(path.exists() for path in ready):
                    break
                time.sleep(0.01)
            process.send_signal(number)
            out, _ = process.communicate(timeout=30)
            self.assertEqual(process.returncode, status, out)
            for words in 'reads a line', message:
                self.assertIn(words, out)
            self.assertNotIn('Traceback', out)
            subprocess.run(['flock', '-w', '20', self.tmp / 'lock', 'true'], check=True)
            for path in ready:
                path.unlink()
