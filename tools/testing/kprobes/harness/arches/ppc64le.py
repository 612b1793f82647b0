# SPDX-License-Identifier: GPL-2.0
"""ppc64le: QEMU's pseries with a POWER9."""

from . import Arch

# With two CPUs, C's return probes lose count of preemption ("scheduling while
# atomic"), now in a sample and now in a test.
ARCH = Arch(
    name='ppc64le', kernel='powerpc', folder='powerpc', option='PPC', elf=21,
    debian='ppc64el', target='vmlinux', image='vmlinux',
    qemu=('qemu-system-ppc64', '-M', 'pseries', '-m', '{memory}',
          '-vga', 'none', '-serial', 'stdio'),
    cpu='power9', console='console=hvc0',
    cpus_with_c=1, memory=1024, steps=1900, planned=13, budget=16)
