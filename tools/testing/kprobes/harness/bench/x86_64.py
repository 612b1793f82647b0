# SPDX-License-Identifier: GPL-2.0
"""The part of the benchmark that x86_64 has for itself."""

import re

from bench.rows import Arch, returns

ARCH = Arch(
    # A page fault at an address in a hole of the kernel's half; breakpoint
    # and debug exceptions.
    mark=re.compile(r'v=0e .*CR2=ffffffff0000([0-9a-f]{4})\b'),
    trap=re.compile(r'^ *\d+: v=0[13] '),
    hits=(
        ('bare_mov', 'bare call: mov'),
        ('bare_jmp', 'bare call: jmp'),
        ('bare_call', 'bare call: call'),
        ('bare_ret', 'bare call: ret'),
        ('bare_c', 'bare call: C function'),
        ('bare_sites', 'bare call: generated function (16 mov)'),
        ('floor', 'empty trap and return (floor)'),
        ('notified', 'breakpoint of nobody, taken by a die notifier'),
        ('step', 'single-stepped, pre + post handler'),
        ('step_pre', 'single-stepped, pre handler'),
        ('step_post', 'single-stepped, post handler'),
        ('jmp', 'emulated jmp'),
        ('jmp_post', 'emulated jmp, pre + post handler'),
        ('call', 'emulated call'),
        ('ret', 'emulated ret'),
        ('skip', 'pre handler returns 1'),
        ('step_2', '2 probes at one address, stepped'),
        ('step_4', '4 probes at one address, stepped'),
        ('reentered', 'handler hits another probe'),
        ('ftrace', 'ftrace-based'),
        ('ftrace_post', 'ftrace-based, pre + post handler'),
        ('ftrace_2', 'ftrace-based, 2 probes'),
        *returns('step', 'stepped'),
        ('return_jmp', 'return probe on emulated jmp'),
        *returns('ftrace', 'ftrace-based')),
    optimized=(
        ('optimized', 'jump-optimized'),
        ('optimized_2', 'jump-optimized, 2 probes'),
        ('optimized_4', 'jump-optimized, 4 probes'),
        *returns('optimized', 'jump-optimized')),
    places={
        'module': ('module text, armed', (1, 1000, 10000)),
        'vmlinux_disabled': ('vmlinux, disabled', (1, 1000, 10000)),
        'vmlinux_deep': ('vmlinux, far inside functions, disabled', (1, 1000)),
        # Ten thousand armed functions are hit by registering itself, through
        # C's long chains: 160 thousand million instructions, over ten minutes.
        'vmlinux': ('vmlinux, armed', (1, 1000))},
    # All breakpoints of a batch come in one round and go in two; jumps come in
    # three more for each 256, and go in two for all before the breakpoints do.
    rounds={'register_optimized_100': 4, 'unregister_optimized_100': 4,
            'register_100': 1, 'unregister_100': 2},
    minutes={'c': {'hits': 0.7, 'traps': 0.6, 'scale': 12.7,
                   'lifecycle': 14.4, 'syncs': 2.6},
             'rust': {'hits': 0.9, 'traps': 0.8, 'scale': 0.8,
                      'lifecycle': 1.1, 'syncs': 2.1}},
)
