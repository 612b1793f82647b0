/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the storm has to know of s390 beside the functions in the .S files here.
 */
#ifndef _KPROBES_STORM_ARCH_H
#define _KPROBES_STORM_ARCH_H

/* Where the lowcore has the number of the register of a per-CPU section. */
#define ARCH_PERCPU_REGISTER	0x3c0

#ifdef __ASSEMBLER__

#include "frame.S"

#else

#include <linux/build_bug.h>
#include <linux/kdebug.h>
#include <linux/ptrace.h>
#include <linux/uaccess.h>
#include <asm/ctlreg.h>
#include <asm/lowcore.h>

static_assert(offsetof(struct lowcore, percpu_register) == ARCH_PERCPU_REGISTER);

/*
 * Sites in targets.S. Kallsyms ignores names like these: a label within a per-CPU
 * section would be where a function begins, at which no section is open.
 */
extern const u8 L0storm_move_site[], L0storm_relative_site[];
extern const u8 L0storm_mask_site[], L0storm_jump_site[], L0storm_call_site[];
extern const u8 L0storm_return_site[], L0storm_open_site[], L0storm_add_site[];
extern const u8 L0storm_use_site[], L0storm_close_site[];

#define ARCH_TARGETS {							\
	/* It runs as a copy that goes on by itself. */			\
	{ { "move", L0storm_move_site }, storm_move },			\
	/* The same, relative to where it stands. */			\
	{ { "relative", L0storm_relative_site }, storm_relative },	\
	/* These are emulated. */					\
	{ { "mask", L0storm_mask_site }, storm_mask },			\
	{ { "jump", L0storm_jump_site }, storm_jump },			\
	{ { "call", L0storm_call_site }, storm_calls },			\
	{ { "return", L0storm_return_site }, storm_return },		\
	/* Each instruction of a per-CPU section. */			\
	{ { "open", L0storm_open_site }, storm_percpu },		\
	{ { "add", L0storm_add_site }, storm_percpu },			\
	{ { "use", L0storm_use_site }, storm_percpu },			\
	{ { "close", L0storm_close_site }, storm_percpu },		\
	STORM_TRACED,							\
}

#define ARCH_MOVE	{ 0xc0, 0x1e, 0x6b, 0x70, 0x72, 0x62 }

/* The condition code, as IPM stores it. */
#define ARCH_FLAGS	0x30000000
#define ARCH_CARRY	0x20000000

#define ARCH_INTERRUPT_FLAG	0

/* The registers that a function is called with, or leaves. */
struct storm_registers {
	unsigned long r0, r1, arguments[3], others[7];
	unsigned long client;	/* r12; a function of ours leaves it alone */
	unsigned long r13, r14, flags;
};

#define ARCH_FIRST	arguments[0]
#define ARCH_SECOND	arguments[1]
#define ARCH_THIRD	arguments[2]
#define ARCH_RESULT	arguments[0]

static inline unsigned long arch_client(const struct pt_regs *regs)
{
	return regs->gprs[12];
}

/* A detour saves no code of an interruption. */
static inline bool came_by_jump(const struct pt_regs *regs)
{
	return !regs->int_code;
}

#define ARCH_JUMPS {							\
	JUMP(plain, true), JUMP(cond, true), JUMP(leave, true),		\
	JUMP(stack, true), JUMP(relative, true), JUMP(one, true),	\
}

#define ARCH_MARK	0
#define ARCH_INSIDE_ERRNO	EINVAL

#define ARCH_BEFORE	4
#define ARCH_TRAP_SIZE	2
#define ARCH_JUMP_SIZE	6

/* Where a jump in the place of a breakpoint leads, if there is one. */
static inline const u8 *arch_jump_at(const u8 *at)
{
	u16 code[ARCH_JUMP_SIZE / 2];

	if (copy_from_kernel_nofault(code, at, sizeof(code)) ||
	    code[0] != 0xc0f4)
		return NULL;
	return at + 2L * (int)(code[1] << 16 | code[2]);
}

/* Behind its code a detour has the address of the place and two. */
static inline unsigned long arch_site_of_detour(unsigned long slot)
{
	unsigned long shown;

	if (copy_from_kernel_nofault(&shown, (void *)slot + 40, sizeof(shown)))
		return 0;
	return shown - ARCH_TRAP_SIZE;
}

#define ARCH_DETOUR_BEGIN	3
#define ARCH_DETOUR_END		1
#define ARCH_DETOUR_COMMON	20
#define ARCH_DETOUR_FRAMELESS(into)	((into) < 44)
#define ARCH_DETOUR_WAITS	false
#define ARCH_HIDES_CALLERS	true
#define ARCH_BELOW_THREAD	3
#define ARCH_UNWINDS_OTHERS	true

/* QEMU is slow. */
#define ARCH_MANY_CALLS	1000

/* Single steps are fetches of instructions, which the CPU reports (PER). */
#define ARCH_STEPPED	DIE_SSTEP
/* None of the flags that a function is called with. */
#define ARCH_STEP_FLAG	0

static __always_inline void arch_step(bool on)
{
	struct ctlreg per[3] = {
		{ on ? PER_EVENT_IFETCH : 0 }, { 0 }, { on ? -1UL : 0 },
	};
	unsigned char mask;

	__local_ctl_load(9, 11, per);
	if (on)
		asm volatile("stosm %0,0x40" : "=Q" (mask) : : "memory");
	else
		asm volatile("stnsm %0,0xbf" : "=Q" (mask) : : "memory");
}

#endif
#endif
