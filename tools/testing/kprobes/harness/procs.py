# SPDX-License-Identifier: GPL-2.0
"""Running other programs: every line into a log, nothing left behind."""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import env
import progress


def start(command: Iterable, **options: Any) -> subprocess.Popen:
    """Start COMMAND in a process group of its own.

    It ends with the process namespace, whose process 1 we are.
    """
    return subprocess.Popen(list(map(str, command)), start_new_session=True, **options)


def kill(process: subprocess.Popen) -> None:
    """End PROCESS and all that it started."""
    for number in signal.SIGTERM, signal.SIGKILL:
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, number)
            process.wait(timeout=3)
    process.wait()


@contextlib.contextmanager
def turn(path: Path, place: str, doing: str) -> Iterator[None]:
    """One at a time: the second waits, and says for what.

    PATH is a file to lock, which then says what its holder is DOING, or a
    folder; PLACE is what people call it.
    """
    folder = path.is_dir()
    handle = os.open(path, os.O_RDONLY if folder else os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            other = '' if folder else os.pread(handle, 200, 0).decode()
            progress.say(f'waiting: {place} is busy with '
                         f'"{other.strip() or "another command"}"')
            fcntl.flock(handle, fcntl.LOCK_EX)
        if not folder:
            os.truncate(handle, 0)
            os.pwrite(handle, doing.encode(), 0)
        yield
    finally:
        os.close(handle)


def alone(name: str) -> contextlib.AbstractContextManager[None]:
    """One at a time in the cache that all checkouts share."""
    return turn(env.CACHE / f'{name}.lock', 'the cache', name)


def no_space(path: Path) -> bool:
    """Is the file system of PATH as good as full?"""
    try:
        return shutil.disk_usage(path).free < 32 << 20
    except OSError:
        return False


def full_disk(path: Path) -> env.Refusal:
    """The refusal for a disk that filled up."""
    free = shutil.disk_usage(path).free >> 20
    return env.Refusal(
        f'room for the build below {env.host(env.CACHE)}',
        f'the disk is full ({free} MiB free)',
        'free some space (make clean drops objects), or use another disk: '
        'CACHE=/other/place. What is done so far is kept.')


def run(command: Iterable, log: Path, *, cwd: Path | None = None, extra: dict | None = None,
        on_line: Callable[[str], object] | None = None,
        append: bool = False) -> int:
    """Run COMMAND, its output line by line into LOG and to on_line.

    Returns the exit status.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    # Unbuffered: whatever ends us, the log has what was printed.
    with open(log, 'ab' if append else 'wb', buffering=0) as out:
        out.write(('$ ' + ' '.join(map(str, command)) + '\n').encode())
        process = start(command, cwd=cwd, env={**os.environ, **(extra or {})},
                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT)
        with process:
            try:
                for raw in process.stdout or ():
                    out.write(raw)
                    line = raw.decode(errors='replace').rstrip('\n')
                    if env.VERBOSE:
                        print(line, flush=True)
                    if on_line:
                        on_line(line)
            except BaseException:
                kill(process)
                raise
    return process.returncode


def tail(log: Path, count: int = 25) -> str:
    """The last lines of LOG."""
    try:
        text = log.read_text(errors='replace')
    except OSError:
        return ''
    return '\n'.join(text.splitlines()[-count:])


def output(command: Iterable, **options: Any) -> str:
    """The output of COMMAND; raises CalledProcessError if it fails."""
    return subprocess.run(list(map(str, command)), check=True, text=True,
                          capture_output=True, **options).stdout
