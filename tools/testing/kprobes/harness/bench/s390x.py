# SPDX-License-Identifier: GPL-2.0
"""The part of the benchmark that s390x has for itself."""

import re

from bench.rows import Arch, hits

ARCH = Arch(
    # A data exception in the page of marks; operation exceptions, divisions by 0,
    # PER events.
    mark=re.compile(r'do_program_interrupt: code=0x7 .*([0-9a-f]{3})$'),
    trap=re.compile(r'do_program_interrupt: code=0x(1|9|80) '),
    insn='0x47, 0x06, 0xb7, 0x06',
    hits=hits('lgfi', 'j', 'brasl', 'br', 'division by 0, and its fixup'),
    rounds_title='Stopping all other CPUs (runs of stop_machine())', many=1000,
    lacks='vmlinux_disabled_10000',
    # Documentation/trace/rust-kprobes/overhead.rst says why.
    dearer=r'^later_|^memory_(probe|struct)|^register_vmlinux_disabled_1$'
           r'|^unregister_(vmlinux_(d|1(_latency)?$)|module_10+(_latency)?$)',
    c_lacks='optimized',    # C has no jumps. A branch there: see BENCH_BRANCHES.
    # A run for each 1,024 breakpoints or instructions, and for each 256 jumps.
    rounds={'register_1000': 1, 'unregister_1000': 1,
            'register_optimized_1000': 5, 'unregister_optimized_1000': 1},
    minutes={'c': 2, 'rust': 2},
)
