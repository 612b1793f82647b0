# SPDX-License-Identifier: GPL-2.0
"""The part of the benchmark that x86_64 has for itself."""

import re

from bench.rows import Arch, hits

ARCH = Arch(
    # A page fault at an address in a hole of the kernel's half; breakpoint
    # and debug exceptions.
    mark=re.compile(r'v=0e .*CR2=ffffffff0000([0-9a-f]{4})\b'),
    trap=re.compile(r'^ *\d+: v=0[13] '),
    insn='0x0f, 0x1f, 0x80, 0x6f, 0x72, 0x70, 0x6b',
    hits=hits('mov', 'jmp', 'call', 'ret', 'empty trap and return'),
    cmdline='tsc=nowatchdog',
    dearer=r'^floor$|^later_|^memory_|^(syncs_)?(un)?register_',
    # All breakpoints of a batch come in one round and go in two; jumps come in
    # three more for each 256, and go in two for all before the breakpoints do.
    rounds={'register_optimized_100': 4, 'unregister_optimized_100': 4,
            'register_100': 1, 'unregister_100': 2},
    minutes={'c': 16, 'rust': 4},
)
