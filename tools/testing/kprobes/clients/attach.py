#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Probes by perf_event_open(2), without a library in between.

attach.py NUMBER perf|tracefs [behind]: seconds to attach so many, and to detach:
at functions' entries, or behind ftrace
"""

import ctypes
import os
import platform
import resource
import struct
import sys
import time
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
# The number of the system call, and the bytes of the call of ftrace that
# functions begin with.
SYS_PERF_EVENT_OPEN, CALL_SIZE = {
    'x86_64': (298, 5), 's390x': (331, 6), 'armv7l': (364, 4)}[platform.machine()]
TRACING = Path('/sys/kernel/tracing')
DEVICE = Path('/sys/bus/event_source/devices/kprobe')
LIST = Path('/sys/kernel/debug/kprobes/list')

# perf_event_attr: what is ours of it, by where it stands.
ATTR_SIZE = 136
PERF_FLAG_FD_CLOEXEC = 8
DISABLED = 1 if sys.byteorder == 'little' else 1 << 63


def opened(function, offset):
    """A perf event, not on, of a probe at FUNCTION + OFFSET."""
    name = ctypes.create_string_buffer(function.encode())
    kind = int((DEVICE / 'type').read_text())
    attr = bytearray(ATTR_SIZE)
    struct.pack_into('=II', attr, 0, kind, ATTR_SIZE)
    struct.pack_into('=Q', attr, 40, DISABLED)
    # config1 is the function's name, config2 how far behind it.
    struct.pack_into('=QQ', attr, 56, ctypes.addressof(name), offset)
    text = (ctypes.c_char * ATTR_SIZE).from_buffer(attr)
    event = LIBC.syscall(ctypes.c_long(SYS_PERF_EVENT_OPEN), text, -1, 0, -1,
                         PERF_FLAG_FD_CLOEXEC)
    if event < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return event


def places(number, behind):
    """At least so many (function, offset), those to try first in front.

    The functions are those that ftrace can be called from, and have a name
    that stands for one place.
    """
    calls = {}
    lines = (TRACING / 'available_filter_functions_addrs').read_text()
    for line in lines.splitlines():
        where, *words = line.split()
        if len(words) == 1:
            calls[words[0]] = int(where, 16)
    once, starts = {}, {}
    for line in Path('/proc/kallsyms').read_text().splitlines():
        where, _, name, *_ = line.split()
        once[name] = once.get(name, 0) + 1
        starts[name] = int(where, 16)
    blacklist = (LIST.parent / 'blacklist').read_text()
    no_probe = {line.split('\t')[1] for line in blacklist.splitlines()}
    found = [(name, call + CALL_SIZE - starts[name] if behind else 0)
             for name, call in calls.items() if once.get(name) == 1
             and name not in no_probe and '.' not in name
             and not name.startswith(('bpf_', 'trace_', 'perf_', 'rcu_'))]
    # Evenly from all of the kernel's text; then those in between.
    step = max(1, len(found) // number)
    return [one for first in range(step) for one in found[first::step]]


def by_perf(found, number):
    """Attach, yield how many were refused, and detach."""
    events, refused = [], 0
    for name, offset in found:
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


def by_tracefs(found, number):
    """The same by events of tracefs, switched on and off as a group."""
    made = refused = 0
    with open(TRACING / 'kprobe_events', 'wb', buffering=0) as file:
        for name, offset in found:
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


def tell(step, began):
    """How long a step took, as soon as it is over."""
    print(f'figures: {step}: {time.monotonic() - began:.3f} s',
          file=sys.stderr, flush=True)


def scale(number, way, behind=''):
    """Print how many there were, and how long it took."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (number + 100, number + 100))
    work = {'perf': by_perf, 'tracefs': by_tracefs}[way](
        places(number, behind), number)
    what = f'{way} {number}{behind and " " + behind}'
    began = time.monotonic()
    refused = next(work)
    tell(f'{what} attach', began)
    there = len(LIST.read_text().splitlines())
    began = time.monotonic()
    next(work, None)
    while LIST.read_text():
        time.sleep(0.01)
    tell(f'{what} detach', began)
    # Which they try, and which are refused, is another kernel's own affair.
    print(f'refused on the way: {refused}', file=sys.stderr)
    print(f'{way} {number}: {there} attached')


if __name__ == '__main__':
    scale(int(sys.argv[1]), *sys.argv[2:])
