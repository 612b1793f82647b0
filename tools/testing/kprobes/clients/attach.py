#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Probes by perf_event_open(2), without a library in between.

attach.py cookie FUNCTION [OFFSET]   what a BPF program is told of a hit: where
                                     the function is, and its own cookie
attach.py scale NUMBER perf|tracefs [behind]
                                     seconds to attach so many, and to detach:
                                     at functions' entries, or behind ftrace
"""

import ctypes
import os
import resource
import struct
import sys
import time
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
SYS_BPF, SYS_PERF_EVENT_OPEN = 321, 298
TRACING = Path('/sys/kernel/tracing')
DEVICE = Path('/sys/bus/event_source/devices/kprobe')
LIST = Path('/sys/kernel/debug/kprobes/list')

# perf_event_attr: what is ours of it, by where it stands.
ATTR_SIZE = 136
PERF_FLAG_FD_CLOEXEC = 8
DISABLED = 1


def called(number, *arguments):
    """A system call's result; its error as Python's."""
    found = LIBC.syscall(ctypes.c_long(number), *arguments)
    if found < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return found


def opened(function, offset=0, on_return=False, flags=0):
    """A perf event of a probe at FUNCTION + OFFSET, with FLAGS of its attr."""
    name = ctypes.create_string_buffer(function.encode())
    kind = int((DEVICE / 'type').read_text())
    attr = bytearray(ATTR_SIZE)
    struct.pack_into('<IIQ', attr, 0, kind, ATTR_SIZE, int(on_return))
    struct.pack_into('<Q', attr, 40, flags)
    # config1 is the function's name, config2 how far behind it.
    struct.pack_into('<QQ', attr, 56, ctypes.addressof(name), offset)
    text = (ctypes.c_char * ATTR_SIZE).from_buffer(attr)
    return called(SYS_PERF_EVENT_OPEN, text, -1, 0, -1, PERF_FLAG_FD_CLOEXEC)


def bpf(command, attr):
    """bpf(2), its attributes as bytes."""
    text = ctypes.create_string_buffer(attr, len(attr))
    return called(SYS_BPF, command, text, len(attr))


MAP_CREATE, MAP_LOOKUP, PROG_LOAD, LINK_CREATE = 0, 1, 5, 28
ARRAY, KPROBE_PROGRAM, PERF_EVENT = 2, 2, 41
UPDATE, GET_FUNC_IP, GET_ATTACH_COOKIE = 2, 173, 174


def instruction(code, to=0, source=0, offset=0, value=0):
    """One of BPF's."""
    return struct.pack('<BBhi', code, source << 4 | to, offset, value)


def program(into):
    """Notes in INTO, an array, what the helpers tell of a hit."""
    call, store, move, add = 0x85, 0x7b, 0xbf, 0x07
    code = b''.join((
        instruction(move, 6, 1),
        instruction(call, value=GET_FUNC_IP),
        instruction(store, 10, 0, -16),
        instruction(move, 1, 6),
        instruction(call, value=GET_ATTACH_COOKIE),
        instruction(store, 10, 0, -8),
        # The first element.
        instruction(0x62, 10, offset=-20),
        instruction(0x18, 1, 1, value=into), instruction(0),
        instruction(move, 2, 10), instruction(add, 2, value=-20),
        instruction(move, 3, 10), instruction(add, 3, value=-16),
        instruction(0xb7, 4),
        instruction(call, value=UPDATE),
        instruction(0xb7, 0), instruction(0x95)))
    lines = ctypes.create_string_buffer(code, len(code))
    licence = ctypes.create_string_buffer(b'GPL')
    return bpf(PROG_LOAD, struct.pack(
        '<IIQQIIQII', KPROBE_PROGRAM, len(code) // 8, ctypes.addressof(lines),
        ctypes.addressof(licence), 0, 0, 0, 0, 0))


def address(function):
    """Where a function is."""
    for line in Path('/proc/kallsyms').read_text().splitlines():
        where, _, name, *_ = line.split()
        if name == function:
            return int(where, 16)
    sys.exit(f'no function {function} in /proc/kallsyms')


def cookie(function, offset=0):
    """Print what the helpers tell of one call."""
    array = bpf(MAP_CREATE, struct.pack('<IIIII', ARRAY, 4, 16, 1, 0))
    code = program(array)
    event = opened(function, offset)
    mine = 0x1234567890abcdef
    bpf(LINK_CREATE, struct.pack('<IIIIQ', code, event, PERF_EVENT, 0, mine))
    os.system(f'grep {function} {LIST} >&2')
    print('probes:', sum(function in line
                         for line in LIST.read_text().splitlines()))
    os.chdir('/tmp')
    key, value = ctypes.c_uint32(0), (ctypes.c_uint64 * 2)()
    bpf(MAP_LOOKUP, struct.pack('<IIQQQ', array, 0, ctypes.addressof(key),
                                ctypes.addressof(value), 0))
    entry = address(function)
    found = 'nothing' if not value[0] else f'{value[0] - entry:+#x}'
    print(f'func_ip: {found}\ncookie: {value[1]:#x}')


# The call of ftrace that functions begin with.
CALL_SIZE = 5


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


class Clock:
    """Tells how long each step took as soon as it is over."""

    def __init__(self, what):
        self.what, self.began = what, time.monotonic()

    def begin(self):
        """A step begins now."""
        self.began = time.monotonic()

    def tell(self, step):
        """It is over."""
        print(f'figures: {self.what} {step}: '
              f'{time.monotonic() - self.began:.3f} s', file=sys.stderr,
              flush=True)


def by_perf(found, number, clock):
    """Attach and detach; how many there were, and how many were refused."""
    events, refused = [], 0
    clock.begin()
    for name, offset in found:
        if len(events) == number:
            break
        try:
            # The probe is on from now on. At each event that is on, too, perf
            # would go through all that the CPU has.
            events.append(opened(name, offset, flags=DISABLED))
        except OSError as error:
            print(f'{name}: {error}', file=sys.stderr)
            refused += 1
    clock.tell('attach')
    there = len(LIST.read_text().splitlines())
    clock.begin()
    for event in events:
        os.close(event)
    while LIST.read_text():
        time.sleep(0.01)
    clock.tell('detach')
    return there, refused


def by_tracefs(found, number, clock):
    """The same by events of tracefs, switched on and off as a group."""
    made = refused = 0
    clock.begin()
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
    clock.tell('attach')
    there = len(LIST.read_text().splitlines())
    clock.begin()
    enable.write_text('0')
    (TRACING / 'kprobe_events').write_text('')
    while LIST.read_text():
        time.sleep(0.01)
    clock.tell('detach')
    return there, refused


def scale(number, way, behind=''):
    """Print how many there were, and how long it took."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (number + 100, number + 100))
    work = {'perf': by_perf, 'tracefs': by_tracefs}[way]
    clock = Clock(f'{way} {number}{behind and " " + behind}')
    there, refused = work(places(number, behind), number, clock)
    # Which they try, and which are refused, is another kernel's own affair.
    print(f'refused on the way: {refused}', file=sys.stderr)
    print(f'{way} {number}: {there} attached')


if __name__ == '__main__':
    words = sys.argv[2:]
    if sys.argv[1] == 'cookie':
        cookie(words[0], *(int(word, 0) for word in words[1:]))
    else:
        scale(int(words[0]), *words[1:])
