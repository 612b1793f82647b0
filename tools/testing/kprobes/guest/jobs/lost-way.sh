# SPDX-License-Identifier: GPL-2.0
# What must kill the guest, and how: alone in its own boot.
load kprobes_crash how=lost_way \
	trampoline="0x$(grep ' arch_rethook_trampoline$' /proc/kallsyms | cut -c1-16)"
