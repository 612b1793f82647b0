# SPDX-License-Identifier: GPL-2.0
"""s390x: big-endian, on QEMU's s390-ccw-virtio with an SCLP console."""

from arches import STORM_2, STORMS, Arch, Piece

ARCH = Arch(
    name='s390x', kernel='s390', folder='s390', debian='s390x',
    target='bzImage', image='arch/s390/boot/bzImage',
    qemu=('qemu-system-s390x', '-M', 's390-ccw-virtio', '-m', '{memory}',
          '-chardev', 'stdio,id=c0', '-device', 'sclpconsole,chardev=c0'),
    cpu='qemu', console='console=ttyS0',
    memory=1024, steps=2000, planned=13, budget=32, back_end=True, shipped=('test_unwind',),
    oops={'division': 'fixpoint divide exception', 'bug': 'kernel BUG at',
          'at': ' (', 'into': '0x2', 'jump_into': '0x6', 'given': 'original'}, crashes=('rust',),
    # QEMU's CPUs lack facility 85, which lets text change while others run it.
    pieces=(*STORMS, STORM_2,
            Piece('storm-live', 'storm', seconds=600, cmdline='facilities=85',
                  says=r'facilities .* 85\b', extra=('-smp', '2'))))
