# SPDX-License-Identifier: GPL-2.0
"""arm: ARMv7, little-endian, on QEMU's virt board."""

import re

from . import PREEMPT_RT, STORM_2, STORMS, Arch, HitPath, Piece

# Each CPU has a thread: in one thread, a flush of the TLBs waits for each CPU's turn
# at each page. The kernel begins with one CPU, and init switches the others on.
# With two CPUs and C's kprobes, return handlers are called for probes that are
# gone: get_kretprobe() is NULL.
ARCH = Arch(
    name='arm', kernel='arm', folder='arm', option='ARM', elf=40, debian='armhf',
    target='zImage', image='arch/arm/boot/zImage',
    qemu=('qemu-system-arm', '-M', 'virt', '-m', '{memory}', '-serial', 'stdio'),
    cpu='cortex-a15', console='console=ttyAMA0 maxcpus=1', cpus_with_c=1,
    thread='multi', memory=512, steps=1800, planned=13, budget=18, back_end=True,
    share='virtio-9p-device', thumb=True, programs=('arm/uprobed',), cross='arm-linux-gnueabihf-',
    oops={'fault': 'Unable to handle kernel paging request', 'bug': 'kernel BUG at',
          'at': 'PC is at ', 'into': '0x0', 'jump_into': '0x0', 'given': 'copy'}, crashes=('rust',),
    crash_tests=('H11_nobodys_breakpoint',),
    # The kernel itself is Thumb code; C does not know NOKPROBE functions of modules.
    pieces=(Piece('thumb2', 'kunit', 'thumb2', 'c'), *(Piece(name, flavour=name) for name in (
        'thumb2', 'voluntary', 'lpae', 'framepointer', 'gcc')),
            Piece('up', flavour='up', extra=('-smp', '1')),
            PREEMPT_RT, *STORMS, STORM_2,
            Piece('storm-thumb2', 'storm', 'thumb2', seconds=600)),
    # Each instruction that writes PC is a branch; table: also returns.
    hit_path=HitPath(
        branch=re.compile(r'(bl?x?(eq|ne|hs|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)?|cbn?z)(\.[nw])? '
                          r'|(mov|ldr|add|sub)\S* pc, |(pop|ldm)\S* .*\bpc}'),
        indirect=re.compile(r'^(r\d+|lr|ip)$|^pc, |\bpc}'),
        table=re.compile(r'bx\S* lr$|(pop|ldm)|mov\S* pc, lr$|add\S* pc, pc'
                         r'|ldr\S* pc, \[(\w+, \w+, lsl #2\]|sp\],)'),
        entries=('kprobe_undefinstr', 'rust_kprobes_detour', 'kprobe_unwind_original',
                 'rust_kprobes_jprobe_enter', 'rust_kprobes_jprobe_return_trap'),
        handlers=re.compile(r'rust_kprobes_undefined$|rust_kprobes_jprobe_enter$')),
    c_calls=r'_raw_spin_(un)?lock_irq|do_raw_spin_|lock_(acquire|release)\+|rcu_is_watching'
            r'|arch_(local_save|irqs_disabled)_flags|(memset|mmioset)\+'
            # The unwinder, which lockdep calls, and its lock.
            r'|unwind_|__list_(add|del)_entry_valid')
