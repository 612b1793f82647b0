# SPDX-License-Identifier: GPL-2.0
"""arm: ARMv7, little-endian, on QEMU's virt board."""

from arches import PREEMPT_RT, STORM_2, STORMS, Arch, Piece

# Each CPU has a thread: in one thread, a flush of the TLBs waits for each CPU's turn
# at each page. The kernel begins with one CPU, and init switches the others on.
# With two CPUs and C's kprobes, return handlers are called for probes that are
# gone: get_kretprobe() is NULL.
ARCH = Arch(
    name='arm', kernel='arm', folder='arm', debian='armhf',
    target='zImage', image='arch/arm/boot/zImage',
    qemu=('qemu-system-arm', '-M', 'virt', '-m', '{memory}', '-serial', 'stdio'),
    cpu='cortex-a15', console='console=ttyAMA0 maxcpus=1', cpus_with_c=1,
    thread='multi', memory=512, steps=1800, planned=13, budget=18, back_end=True,
    share='virtio-9p-device',
    # The kernel itself is Thumb code; C does not know NOKPROBE functions of modules.
    pieces=(Piece('thumb2', 'kunit', 'thumb2', 'c'), *(Piece(name, flavour=name) for name in (
        'thumb2', 'voluntary', 'lpae', 'framepointer')),
            Piece('up', flavour='up', extra=('-smp', '1')),
            PREEMPT_RT, *STORMS, STORM_2,
            Piece('storm-thumb2', 'storm', 'thumb2', seconds=600)))
