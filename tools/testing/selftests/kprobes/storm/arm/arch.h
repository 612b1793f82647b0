/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the storm has to know of arm beside the functions in the .S files here.
 */
#ifndef _KPROBES_STORM_ARCH_H
#define _KPROBES_STORM_ARCH_H

#ifdef __ASSEMBLER__

#include "frame.S"

#else

#include <linux/ptrace.h>
#include <linux/uaccess.h>

extern const u8 storm_move_site[], storm_store_site[], storm_word_site[];
extern const u8 storm_mask_site[], storm_return_site[], storm_jump_site[];
extern const u8 storm_call_site[];

#define ARCH_TARGETS {							\
	/* These run as copies that go on by themselves. */		\
	{ { "move", storm_move_site }, storm_move },			\
	{ { "store", storm_store_site }, storm_store },			\
	/* It is emulated, as it reads PC. */				\
	{ { "word", storm_word_site }, storm_word },			\
	/* These are emulated under a post handler. */			\
	{ { "mask", storm_mask_site }, storm_mask },			\
	{ { "return", storm_return_site }, storm_return },		\
	/* These are emulated. */					\
	{ { "jump", storm_jump_site }, storm_jump },			\
	{ { "call", storm_call_site }, storm_calls },			\
	STORM_TRACED,							\
}

/* movw ip, #0x6b72 */
#ifdef CONFIG_THUMB2_KERNEL
#define ARCH_MOVE	{ 0x46, 0xf6, 0x72, 0x3c }
#else
#define ARCH_MOVE	{ 0x72, 0xcb, 0x06, 0xe3 }
#endif

/* Also GE, of media instructions. */
#define ARCH_CARRY	PSR_C_BIT
#define ARCH_FLAGS	(PSR_N_BIT | PSR_Z_BIT | PSR_C_BIT | PSR_V_BIT |	\
			 PSR_Q_BIT | 0x000f0000)

#define ARCH_INTERRUPT_FLAG	0

/* The registers that a function is called with, or leaves. */
struct storm_registers {
	unsigned long arguments[3], others[7];
	unsigned long client;	/* r10; a function of ours leaves it alone */
	unsigned long r11, r12, flags;
};

#define ARCH_FIRST	arguments[0]
#define ARCH_SECOND	arguments[1]
#define ARCH_THIRD	arguments[2]
#define ARCH_RESULT	arguments[0]

/* The kernel has none for arm. */
static inline unsigned long regs_get_kernel_argument(const struct pt_regs *regs,
						     unsigned int n)
{
	return regs->uregs[n];
}

static inline unsigned long arch_client(const struct pt_regs *regs)
{
	return regs->ARM_r10;
}

/* A detour's registers are right below the stack that it was entered with. */
static inline bool came_by_jump(const struct pt_regs *regs)
{
	return regs->ARM_sp == (unsigned long)(regs + 1);
}

/*
 * Each call hits the probe of an entry with an even index. A call of "cond" with
 * the carry flag set does not hit its probe.
 */
#define ARCH_JUMPS {							\
	JUMP(plain, true), JUMP(cond, true), JUMP(leave, true),		\
	JUMP(load, true), JUMP(media, true), JUMP(one, true),		\
}

#define ARCH_MARK	0
#define ARCH_INSIDE_ERRNO	EINVAL

#define ARCH_BEFORE	4
#define ARCH_TRAP_SIZE	0
#define ARCH_JUMP_SIZE	4

static inline const u8 *arch_branch_to(const u8 *at, u32 code)
{
	return at + 8 + ((s32)(code << 8) >> 6);
}

/* Where a jump in the place of a breakpoint leads, if there is one. */
static inline const u8 *arch_jump_at(const u8 *at)
{
	u32 code;

	if (copy_from_kernel_nofault(&code, at, sizeof(code)) ||
	    (code & 0x0f000000) != 0x0a000000)
		return NULL;
	return arch_branch_to(at, code);
}

/* Behind its code a detour has the address of the place. */
static inline unsigned long arch_site_of_detour(unsigned long slot)
{
	unsigned long shown;

	return copy_from_kernel_nofault(&shown, (void *)slot + 40,
					sizeof(shown)) ? 0 : shown;
}

#define ARCH_DETOUR_BEGIN	5
#define ARCH_DETOUR_END		2
#define ARCH_DETOUR_COMMON	20
#define ARCH_DETOUR_FRAMELESS(into)	((into) < 36 || (into) >= 72)
#define ARCH_DETOUR_WAITS	false
#define ARCH_HIDES_CALLERS	false
#define ARCH_BELOW_THREAD	2
#define ARCH_UNWINDS_OTHERS	(!IS_ENABLED(CONFIG_SMP))

/* QEMU is slow. */
#define ARCH_MANY_CALLS	1000

/*
 * The CPU has no single steps for the kernel. The functions have no branches but
 * those of probes: reads which instructions run, and returns how many.
 */
static inline int arch_read_steps(const u8 *function, unsigned long *at, int most)
{
	const u8 *from = function, *link = NULL;
	int n = 0;

	while (from && n < most) {
		const u32 code = *(const u32 *)from;
		const u32 kind = code & 0x0fffffff;	/* without its condition */

		at[n++] = (unsigned long)from;
		if ((code & 0x0f000000) == 0x0a000000) {	/* b */
			from = arch_branch_to(from, code);
		} else if ((kind & ~0x800fff) == 0x051ff000) {	/* ldr pc, [pc, #n] */
			from = *(const u8 **)(from + 8 +
					      (code & 0x800000 ? 1 : -1) *
					      (int)(code & 0xfff));
		} else if (kind == 0x012fff1e) {		/* bx lr */
			from = link;
			link = NULL;
		} else {
			from += 4;
		}
		if (kind == 0x01a0e00f)				/* mov lr, pc */
			link = from + 4;
	}
	return n;
}

#endif
#endif
