# SPDX-License-Identifier: GPL-2.0
"""x86_64: QEMU's PC with a 16550 console."""

from arches import Arch

ARCH = Arch(
    name='x86_64', kernel='x86_64', folder='x86', debian='amd64',
    target='bzImage', image='arch/x86/boot/bzImage',
    qemu=('qemu-system-x86_64', '-m', '{memory}', '-serial', 'stdio'),
    emulator='qemu-system-x86', cpu='max', console='console=ttyS0 nokaslr',
    memory=512, steps=1900, planned=12, budget=18, back_end=True, kvm=True,
    modules=('clauses', 'forms'), programs=('perf_records',),
    entry_marks={'X86_KERNEL_IBT': 4}, early_probe=5,
    oops={'division': r'Oops: divide error', 'bug': r'kernel BUG at'},
    # Its way into a handler is a return: no marks, no checks.
    direct_objects=('arch/x86/kprobes/jprobe.o',),
    crashes=True, clients=True, rethooks=True)
