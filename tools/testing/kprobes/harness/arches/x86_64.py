# SPDX-License-Identifier: GPL-2.0
"""x86_64: QEMU's PC with a 16550 console."""

import re

from . import PREEMPT_RT, STORMS, Arch, HitPath, Piece

_PIECES = (
    # Stacks are twice as large with KASAN, and a kernel has no more tasks than
    # have their stacks in an eighth of memory: a clause wants 2,000.
    Piece('kasan', flavour='kasan', extra=('-m', '1024')),
    *(Piece(name, flavour=name) for name in (
        'modversions', 'kcfi', 'up', 'lazy', 'gcc', 'labels', 'framepointer')),
    PREEMPT_RT,
    # Without a CPU that has it, FineIBT must be asked for.
    Piece('fineibt', flavour='kcfi', cmdline='cfi=fineibt',
          says=r'Using \w*FineIBT'),
    # Returns leave the flags alone, except on a CPU that gets call depth
    # tracking: only Intel's do.
    Piece('calldepth', flavour='labels',
          cmdline='spectre_v2=retpoline retbleed=force,stuff',
          says='RETBleed: Mitigation: Stuffing',
          extra=('-cpu', 'max,vendor=GenuineIntel')),
    *(Piece(name, 'kunit', name)
      for name in ('nomodules', 'noftrace', 'nodebugfs', 'nosysctl', 'breakpoints')),
    # The kernel that has BTF, and examples that are tests.
    *(Piece('api', 'kunit', 'clients', impl) for impl in ('rust', 'c')),
    # With random configurations our objects are compiled, nothing else.
    *(Piece(f'random-{seed}', 'compiled', f'random-{seed}') for seed in range(1, 11)),
    *(Piece('clients', 'clients', impl=impl) for impl in ('rust', 'c')),
    *STORMS,
    Piece('storm-kasan', 'storm', 'kasan', seconds=200),
    Piece('storm-framepointer', 'storm', 'framepointer', seconds=60,
          returns=True),
)

ARCH = Arch(
    name='x86_64', kernel='x86_64', folder='x86', option='X86', elf=62, debian='amd64',
    target='bzImage', image='arch/x86/boot/bzImage',
    qemu=('qemu-system-x86_64', '-m', '{memory}', '-serial', 'stdio'),
    cpu='max', console='console=ttyS0 nokaslr',
    # With five levels of page tables, KASAN reads a feature of the CPU, which is not
    # known for a moment early in a boot: an interrupt then is reported as a bad access.
    with_kasan='no5lvl',
    memory=512, steps=1900, planned=16, budget=36, back_end=True, kvm=True,
    defconfig='arch/x86/configs/x86_64_defconfig',
    programs=('x86/perf_records',),
    opcodes=('tools/arch/x86/lib/x86-opcode-map.txt',
             'arch/x86/kprobes/isa/opcodes-supplement.txt'),
    entry_marks={'X86_KERNEL_IBT': 4}, early_probe=5,
    oops={'fault': 'Oops: divide error', 'bug': 'kernel BUG at',
          'at': 'RIP: 0010:', 'into': '0x0', 'jump_into': '0x0', 'given': 'copy'},
    crashes=('rust', 'c'), crash_tests=('H4_U7_unrecoverable',), forms=('rust', 'c'),
    clients=True, pieces=_PIECES,
    hit_path=HitPath(
        branch=re.compile(r'(call|jmp|j[a-z]+|loop[a-z]*)[lqw]? '),
        prefixes=re.compile(r'^((addr32|data16|rex64|repn?e?|lock|notrack|bnd'
                            r'|[c-gs]s)\s+)+'),
        indirect=re.compile(r'\*'),
        table=re.compile(r'jmp[lqw]?\s+\*.*\(,%\w+,8\)'),
        thunk=re.compile(r'__x86_indirect_(call_|jump_)?thunk_'),
        return_thunk=re.compile(r'__x86_return_thunk$'),
        entries=('kprobe_int3_handler', 'rust_kprobes_jprobe_enter',
                 'rust_kprobes_jprobe_return_trap'),
        handlers=re.compile(r'kprobe_int3_handler$')))
