# SPDX-License-Identifier: GPL-2.0
"""Booting a kernel under QEMU, and knowing whether it really ran.

A boot that panics, hangs, or ends without the guest's last word is a failure
that shows the end of the console and where the whole of it is. Nothing runs
on when we stop.
"""

import os
import platform
import re
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import env
import guest
import procs
import progress

if TYPE_CHECKING:
    import kernel

DONE = 'guest: done'
_STAMP = re.compile(r'^(?:<\d+>)?\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? ')
_PANIC = re.compile(r'Kernel panic - not syncing|^Oops: |: Oops:|'
                    r'double fault|Unable to handle kernel|kernel BUG at |'
                    r'Internal error: |\[#\d+\]')
# A healthy kernel never says this; it is reported even when all tests pass.
_SPLAT = re.compile(
    r'WARNING: |(?<!Oops - )BUG: |possible circular locking|'
    r'sleeping function called|suspicious RCU|KASAN: |UBSAN: |'
    r'INFO: (task|rcu_)|general protection fault|unreferenced object')
_ESCAPES = re.compile(r'\x1b\[[0-9;?]*[A-Za-z]')
SILENCE = 90


def is_splat(line: str) -> bool:
    """Is LINE one that a healthy kernel never prints?"""
    return bool(_SPLAT.search(line))


@dataclass
class Console:
    """The lines of a guest, and whether they are those of a good boot."""

    log: Path
    accelerator: str = 'tcg'
    seconds: float = 0
    lines: list[str] = field(default_factory=list)
    splats: list[str] = field(default_factory=list)
    _death: str = ''
    _done: bool = False

    def add(self, raw: bytes) -> str:
        """Judge the next line of the console; returns it clean."""
        # Without escapes, carriage returns and time stamp.
        line = _STAMP.sub('', _ESCAPES.sub('', raw.decode(errors='replace').replace('\r', '')))
        self.lines.append(line)
        if not self._death and _PANIC.search(line):
            self._death = f'the kernel died: {line.strip()}'
        elif is_splat(line):
            self.splats.append(line)
        self._done = self._done or line.strip() == DONE
        return line

    def add_hang(self, why: str) -> None:
        """The guest did not end by itself."""
        self._death = self._death or f'the guest hangs: {why}'

    def trouble(self) -> str:
        """Why the boot has failed; '' if it has not."""
        if self._death or self._done:
            return self._death
        return 'the guest ended without its last word' \
            if self.lines else 'the guest printed nothing at all'


class Died(env.Refusal):
    """A boot that did not come to its end."""

    def __init__(self, expected: str, found: str, do: str, lines: list[str], log: str = '') -> None:
        super().__init__(expected, found, do, log)
        self.lines = lines


def accelerator(built: 'kernel.Built', wanted: str | None = None) -> str:
    """kvm if a kernel really boots under it, else tcg.

    /dev/kvm may open and accept a guest that then hangs, so the only proof is
    a boot. The answer is kept for this machine and kernel.
    """
    if wanted:
        return wanted
    if not built.machine.kvm or not os.access('/dev/kvm', os.R_OK | os.W_OK):
        return 'tcg'
    model = re.search('model name.*', Path('/proc/cpuinfo').read_text())
    key = f'kvm {platform.release()} {model and model[0]}'
    known = progress.recall(key)
    if known is not None:
        return 'kvm' if known else 'tcg'
    image = guest.initramfs(built, 'kvm-probe', '')
    works = _boots(built, image, 'kvm', 20)
    if not works and not _boots(built, image, 'tcg', SILENCE):
        return 'tcg'    # this kernel boots nowhere: that tells nothing of KVM
    progress.remember(key, works)
    progress.say('KVM: ' + ('a guest boots; using it' if works else
                            'no guest booted within 20 s; using emulation '
                            '(TCG) from now on'))
    return 'kvm' if works else 'tcg'


def _boots(built: 'kernel.Built', image: Path, kind: str, seconds: int) -> bool:
    try:
        boot(built, image, name=f'{kind}-probe', timeout=seconds, force=kind)
    except env.Refusal:
        return False
    return True


def command(built: 'kernel.Built', initramfs: Path, *, smp: int = 0, icount: bool = False,
            memory: int | None = None, extra: Iterable[str] = (), cmdline: str = '',
            kind: str = 'tcg', interactive: bool = False, thread: str = '') -> list[str]:
    """The QEMU call.

    Most often one thread emulates all CPUs. Where each has its own, QEMU 10.0 at times
    keeps what it has made of a byte of text just before another CPU wrote it,
    and runs that until it is written again. A breakpoint that is not there
    any more, and whose probe is gone, then kills the guest.
    """
    machine = built.machine
    call = [word.format(memory=f'{memory or machine.memory}M') for word in machine.qemu]
    if kind == 'kvm':
        call += ['-accel', 'kvm', '-cpu', 'host']
    else:
        call += ['-accel', f'tcg,thread={"single" if icount else thread or machine.thread}',
                 '-cpu', machine.cpu]
    if icount:
        call += ['-icount', 'shift=0,sleep=off']
    level = 'loglevel=4 quiet' if interactive else 'ignore_loglevel printk.devkmsg=on'
    smp = smp or (machine.cpus_with_c if built.impl == 'c' else 2)
    call += ['-smp', str(smp), '-nodefaults', '-display', 'none',
             '-no-reboot', '-kernel', str(built.image),
             '-initrd', str(initramfs), '-append',
             f'{machine.console} panic=-1 rdinit=/init {level} {cmdline}'.strip()]
    return call + list(extra)


def _lines(process: subprocess.Popen, deadline: float, silence: float) -> Iterator[bytes]:
    """Console lines as they come; raises TimeoutError when they stop.

    Silence is counted and not read from a clock: a machine that is suspended
    finds its clock far ahead, and its guests have said nothing meanwhile.
    """
    selector = selectors.DefaultSelector()
    assert process.stdout
    selector.register(process.stdout, selectors.EVENT_READ)
    rest, silent = b'', 0
    while True:
        if time.monotonic() > deadline:
            raise TimeoutError('it was still running at the time limit')
        if silent >= silence:
            raise TimeoutError(f'it printed nothing for {silence} s')
        if not selector.select(timeout=1):
            silent += 1
            continue
        data = os.read(process.stdout.fileno(), 65536)
        if not data:
            break
        silent = 0
        *whole, rest = (rest + data).split(b'\n')
        for line in whole:
            yield line
    if rest:
        yield rest


def boot(built: 'kernel.Built', initramfs: Path, *, name: str, icount: bool = False,
         cmdline: str = '', timeout: float = 600, force: str | None = None,
         on_line: Callable[[str], object] | None = None, silence: float | None = None,
         **options: Any) -> Console:
    """Boot BUILT to its end; the console, or Died.

    A guest that says nothing for SILENCE seconds hangs. OPTIONS are command()'s. The
    console of the boot before, of the same kernel and name, stays in a file '.before'.
    """
    kind = accelerator(built, 'tcg' if icount else force)
    if built.has('KASAN'):
        cmdline = f'{built.machine.with_kasan} {cmdline}'
    call = command(built, initramfs, icount=icount, kind=kind, cmdline=cmdline, **options)
    log = env.LOGS / f'{built.name}-{name}.console'
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists():
        # A failure may come only once.
        log.replace(f'{log}.before')
    console, started = Console(log, kind), time.monotonic()
    # The checkers that make a guest slow do so under emulation.
    slow = 4 if kind == 'tcg' and built.has('KASAN') else 1
    with open(log, 'wb', buffering=0) as out, procs.start(
            call, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT) as process:
        try:
            for raw in _lines(process, started + timeout * slow,
                              min(silence or SILENCE, timeout) * slow):
                out.write(raw + b'\n')
                line = console.add(raw)
                if env.VERBOSE:
                    print(line, flush=True)
                if on_line:
                    on_line(line)
        except TimeoutError as stop:
            console.add_hang(str(stop))
        finally:
            procs.kill(process)
    console.seconds = time.monotonic() - started
    if trouble := console.trouble():
        last = '\n            '.join(console.lines[-25:])
        raise Died(f'{built.name} to boot and run "{name}" to its end',
                   f'{trouble}\n            ' + last,
                   f'the whole console: {env.host(log)}', console.lines,
                   env.host(log))
    return console


def tell_monitor(path: Path, words: str) -> None:
    """Say WORDS to QEMU's monitor, a socket at PATH, and wait till it has."""
    with socket.socket(socket.AF_UNIX) as monitor:
        monitor.settimeout(10)
        monitor.connect(str(path))
        monitor.sendall(words.encode() + b'\n')
        answer = b''
        # Its prompt, before the words and after.
        while answer.count(b'(qemu)') < 2 and (part := monitor.recv(4096)):
            answer += part


LEAVE = 'exit, or Ctrl-A x (Ctrl-A Ctrl-A sends one Ctrl-A)'


def on_terminal(call: list[str]) -> list[str]:
    """CALL with its console shared with QEMU's monitor.

    So Ctrl-C reaches the guest's shell instead of ending QEMU, and the keys
    after Ctrl-A are QEMU's: see LEAVE. What "-serial mon:stdio" is short for
    has to be spelled out where the console is no serial port.
    """
    words = []
    for word in call:
        if word == 'stdio':
            word = 'mon:stdio'
        elif word.startswith('stdio,id='):
            name = word.removeprefix('stdio,id=')
            words += [word + ',mux=on,signal=off', '-mon', f'chardev={name},mode=readline']
            continue
        words.append(word)
    return words


def interactive(built: 'kernel.Built', initramfs: Path, **options: Any) -> int:
    """Boot to a shell on this terminal; returns when the guest ends."""
    call = on_terminal(command(built, initramfs, interactive=True,
                               kind=accelerator(built), **options))
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return subprocess.run(call, check=False).returncode
    finally:
        signal.signal(signal.SIGINT, before)
