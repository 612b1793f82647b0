/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Translates addresses in copies of probed instructions, for unwinders.
 */
#ifndef _ARCH_X86_KPROBES_UNWIND_H
#define _ARCH_X86_KPROBES_UNWIND_H

#include <linux/types.h>

#ifdef CONFIG_RUST_KPROBES
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

#endif /* _ARCH_X86_KPROBES_UNWIND_H */
