/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface between the x86 part of the Rust kprobes and C.
 */
#ifndef _ARCH_X86_KPROBES_MACHINE_H
#define _ARCH_X86_KPROBES_MACHINE_H

#include <linux/types.h>

#ifdef CONFIG_RUST_KPROBES
bool rust_kprobes_copy_nofault(unsigned long *word, const unsigned long *at,
			       bool lifted);
bool rust_kprobes_has_five_levels(void);
/* trampoline.S */
extern const char rust_kprobes_detour[], rust_kprobes_detour_end[];

/*
 * If @ip is in a copy of an instruction or in a detour, replaces @ip and @sp by the
 * original ones. Returns whether they were replaced.
 */
bool kprobe_original_frame(unsigned long *ip, unsigned long *sp);
#else
static inline bool kprobe_original_frame(unsigned long *ip, unsigned long *sp)
{
	return false;
}
#endif

#endif /* _ARCH_X86_KPROBES_MACHINE_H */
