# SPDX-License-Identifier: GPL-2.0
# A defect that kills the guest: alone in its own boot.
load kprobes_crash how=static_key
