# SPDX-License-Identifier: GPL-2.0
# A defect that kills the guest: alone in its own boot.
echo 0 >/proc/sys/debug/kprobes-optimization
mark killers
load kprobes_forms killers=y only=fixed_up_protection_faults
