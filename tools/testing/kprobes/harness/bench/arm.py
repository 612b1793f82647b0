# SPDX-License-Identifier: GPL-2.0
"""The part of the benchmark that arm has for itself."""

import re

from bench.rows import Arch, hits

ARCH = Arch(
    # A data abort in a hole of the kernel's part; undefined instructions.
    mark=re.compile(r'DFAR 0xfff1([0-9a-f]{4})\b'),
    trap=re.compile(r'Taking exception 1 \[Undefined Instruction\]'),
    insn='0x6b, 0xf0, 0x20, 0xe3',
    hits=hits('movw', 'b', 'bl', 'bx', 'data abort, and its fixup'),
    lacks='vmlinux|ftrace|notified',
    rounds_title='Stopping all other CPUs (runs of stop_machine())',
    rounds={'register_100': 1, 'unregister_100': 3},
    most=(0.93, 0.8),
    # All hits are judged but the data abort, 548 against C's 522: overhead.rst says why.
    dearer=r'^floor$|^later_|^memory_|^(syncs_)?(un)?register_',
    minutes={'c': 18, 'rust': 18},
)
