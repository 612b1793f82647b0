#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Probes by perf_event_open(2), without a library in between.

attach.py NUMBER perf|tracefs [behind]: seconds to attach so many, and to detach:
at functions' entries, or behind ftrace
"""

import ctypes
import os
import resource
import struct
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
# The number of the system call, and the bytes of the call of ftrace that
# functions begin with.
SYS_PERF_EVENT_OPEN, CALL_SIZE = (
    int(os.environ[name]) for name in ('PERF_EVENT_OPEN', 'CALL_SIZE'))
TRACING = Path('/sys/kernel/tracing')
DEVICE = Path('/sys/bus/event_source/devices/kprobe')
LIST = Path('/sys/kernel/debug/kprobes/list')

# perf_event_attr: what is ours of it, by where it stands.
ATTR_SIZE = 136
PERF_FLAG_FD_CLOEXEC = 8
DISABLED = 1 if sys.byteorder == 'little' else 1 << 63


def opened(function: str, offset: int) -> int:
    """A perf event, not on, of a probe at FUNCTION + OFFSET."""
    name = ctypes.create_string_buffer(function.encode())
    kind = int((DEVICE / 'type').read_text())
    attr = bytearray(ATTR_SIZE)
    struct.pack_into('=II', attr, 0, kind, ATTR_SIZE)
    struct.pack_into('=Q', attr, 40, DISABLED)
    # config1 is the function's name, config2 how far behind it.
    struct.pack_into('=QQ', attr, 56, ctypes.addressof(name), offset)
    text = (ctypes.c_char * ATTR_SIZE).from_buffer(attr)
    event = LIBC.syscall(ctypes.c_long(SYS_PERF_EVENT_OPEN), text, -1, 0, -1, PERF_FLAG_FD_CLOEXEC)
    if event < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return event


def places(number: int, behind: str) -> list[tuple[str, int]]:
    """At least so many (function, offset), those to try first in front.

    The functions are those that ftrace can be called from, and have a name
    that stands for one place.
    """
    lines = (TRACING / 'available_filter_functions_addrs').read_text().splitlines()
    calls = {words[1]: int(words[0], 16) for words in map(str.split, lines) if len(words) == 2}
    symbols = [line.split() for line in Path('/proc/kallsyms').read_text().splitlines()]
    times = Counter(words[2] for words in symbols)
    starts = {words[2]: int(words[0], 16) for words in symbols}
    blacklist = (LIST.parent / 'blacklist').read_text()
    no_probe = {line.split('\t')[1] for line in blacklist.splitlines()}
    fit = [(name, call + CALL_SIZE - starts[name] if behind else 0)
           for name, call in calls.items() if times[name] == 1
           and name not in no_probe and '.' not in name
           and not name.startswith(('bpf_', 'trace_', 'perf_', 'rcu_'))]
    # Evenly from all of the kernel's text; then those in between.
    step = max(1, len(fit) // number)
    return [place for first in range(step) for place in fit[first::step]]


def by_perf(fit: list[tuple[str, int]], number: int) -> Iterator[int]:
    """Attach, yield how many were refused, and detach."""
    events, refused = [], 0
    for name, offset in fit:
        if len(events) == number:
            break
        try:
            # The probe is on from now on. At each event that is on, too, perf
            # would go through all that the CPU has.
            events.append(opened(name, offset))
        except OSError as error:
            print(f'{name}: {error}', file=sys.stderr)
            refused += 1
    yield refused
    for event in events:
        os.close(event)


def by_tracefs(fit: list[tuple[str, int]], number: int) -> Iterator[int]:
    """The same by events of tracefs, switched on and off as a group."""
    made = refused = 0
    with open(TRACING / 'kprobe_events', 'wb', buffering=0) as file:
        for name, offset in fit:
            if made == number:
                break
            try:
                file.write(f'p:scale/e{made} {name}+{offset}\n'.encode())
                made += 1
            except OSError as error:
                print(f'{name}: {error}', file=sys.stderr)
                refused += 1
    enable = TRACING / 'events/scale/enable'
    enable.write_text('1')
    yield refused
    enable.write_text('0')
    (TRACING / 'kprobe_events').write_text('')


def tell(step: str, began: float) -> None:
    """How long a step took, as soon as it is over."""
    print(f'figures: {step}: {time.monotonic() - began:.3f} s', file=sys.stderr, flush=True)


def scale(number: int, way: str, behind: str = '') -> None:
    """Print how many there were, and how long it took."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (number + 100, number + 100))
    work = {'perf': by_perf, 'tracefs': by_tracefs}[way](places(number, behind), number)
    name = f'{way} {number}{behind and " " + behind}'
    began = time.monotonic()
    refused = next(work)
    tell(f'{name} attach', began)
    there = len(LIST.read_text().splitlines())
    began = time.monotonic()
    next(work, None)
    while LIST.read_text():
        time.sleep(0.01)
    tell(f'{name} detach', began)
    # Which they try, and which are refused, is another kernel's own affair.
    print(f'refused on the way: {refused}', file=sys.stderr)
    print(f'{way} {number}: {there} attached')


if __name__ == '__main__':
    scale(int(sys.argv[1]), *sys.argv[2:])
