# SPDX-License-Identifier: GPL-2.0
"""s390x: big-endian, on QEMU's s390-ccw-virtio with an SCLP console."""

import re

from . import STORM_2, STORMS, Arch, HitPath, Piece

ARCH = Arch(
    name='s390x', kernel='s390', folder='s390', option='S390', elf=22, debian='s390x',
    target='bzImage', image='arch/s390/boot/bzImage',
    qemu=('qemu-system-s390x', '-M', 's390-ccw-virtio', '-m', '{memory}',
          '-chardev', 'stdio,id=c0', '-device', 'sclpconsole,chardev=c0'),
    cpu='qemu', console='console=ttyS0',
    memory=1024, steps=2000, planned=13, budget=32, back_end=True, shipped=('test_unwind',),
    oops={'fault': 'fixpoint divide exception', 'bug': 'kernel BUG at',
          'at': ' (', 'into': '0x2', 'jump_into': '0x6', 'given': 'original'}, crashes=('rust',),
    crash_tests=('unwinder',),
    # QEMU's CPUs lack facility 85, which lets text change while others run it.
    pieces=(*STORMS, STORM_2,
            Piece('live', states=8, cmdline='facilities=85', says=r'facilities .* 85\b'),
            Piece('storm-live', 'storm', seconds=600, cmdline='facilities=85',
                  says=r'facilities .* 85\b', extra=('-smp', '2'))),
    # table: also returns, and what orders memory.
    hit_path=HitPath(
        branch=re.compile(r'(b[a-z]*|j[a-z]*|cl?g?[ir]j[a-z]*) '),
        indirect=re.compile(r'^(\d+, )?(%r\d+, )?(%r\d+|0)$'),
        table=re.compile(r'b[a-z]*r? (%r\d+|0)$'),
        thunk=re.compile(r'__s390_indirect_jump_'),
        entries=('kprobe_pgm_check', 'rust_kprobes_detour', 'kprobe_unwind_original',
                 'rust_kprobes_jprobe_enter', 'rust_kprobes_jprobe_return_trap'),
        handlers=re.compile(r'kprobe_pgm_check$|rust_kprobes_jprobe_enter$')),
    lengths=(2, 4, 4, 6), opcodes=('arch/s390/tools/opcodes.txt',),
    c_calls=r'(rcu_)?lock_(acquire|release)\+|(__)?rcu_read_(un)?lock|rcu_is_watching'
            r'|debug_lockdep_rcu_enabled')
