/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the storm has to know of x86 beside the functions in the .S files here.
 */
#ifndef _KPROBES_STORM_ARCH_H
#define _KPROBES_STORM_ARCH_H

#include <linux/kdebug.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <linux/text-patching.h>
#include <linux/uaccess.h>
#include <asm/ibt.h>
#include <asm/insn.h>
#include <asm/irqflags.h>
#include <asm/processor-flags.h>

extern const u8 storm_move_site[], storm_rip_site[], storm_load_site[];
extern const u8 storm_jump_site[], storm_call_site[], storm_return_site[];

#define ARCH_TARGETS {							\
	/* It runs as a copy that goes on by itself. */			\
	{ { "move", storm_move_site }, storm_move },			\
	/* The same, relative to where it stands. */			\
	{ { "rip", storm_rip_site }, storm_rip },			\
	/* It runs as a copy that always comes back. */			\
	{ { "load", storm_load_site }, storm_load },			\
	/* The others are emulated. */					\
	{ { "jump", storm_jump_site }, storm_jump },			\
	{ { "call", storm_call_site }, storm_calls },			\
	{ { "return", storm_return_site }, storm_return },		\
	STORM_TRACED,							\
}

#define ARCH_MOVE	{ 0x48, 0xb8, 0x5f, 0x73, 0x65, 0x62, 0x6f, 0x72, 0x70, 0x6b }

#define ARCH_MARK	(IS_ENABLED(CONFIG_X86_KERNEL_IBT) ? 4 : 0)

#define ARCH_JUMPS {							\
	JUMP(cond, false), JUMP(call, true), JUMP(leave, false),	\
	JUMP(many, true), JUMP(plain, true), JUMP(fork, false),		\
	JUMP(away, false), JUMP(rip, true), JUMP(one, true),		\
}

#define ARCH_INSIDE_ERRNO	EILSEQ

#define ARCH_BEFORE	3
#define ARCH_TRAP_SIZE	INT3_INSN_SIZE
#define ARCH_JUMP_SIZE	JMP32_INSN_SIZE

/* Where a jump in the place of a breakpoint leads, if there is one. */
static inline const u8 *arch_jump_at(const u8 *at)
{
	u8 code[ARCH_JUMP_SIZE];
	s32 distance;

	if (copy_from_kernel_nofault(code, at, sizeof(code)) ||
	    code[0] != JMP32_INSN_OPCODE)
		return NULL;
	memcpy(&distance, code + 1, sizeof(distance));
	return at + sizeof(code) + distance;
}

/* A detour pushes the address of the place and one. */
static inline unsigned long arch_site_of_detour(unsigned long slot)
{
	u8 push[5];
	s32 ip;

	if (copy_from_kernel_nofault(push, (void *)(slot + 15), sizeof(push)) ||
	    push[0] != 0x68)
		return 0;
	memcpy(&ip, push + 1, sizeof(ip));
	return (long)ip - 1;
}

#define ARCH_DETOUR_BEGIN	6
#define ARCH_DETOUR_END		0
#define ARCH_DETOUR_COMMON	41
#define ARCH_DETOUR_FRAMELESS(into)	false
#define ARCH_DETOUR_WAITS	true
#define ARCH_HIDES_CALLERS	false

#define ARCH_CARRY	X86_EFLAGS_CF
#define ARCH_FLAGS	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF |	\
			 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_OF)

#define ARCH_INTERRUPT_FLAG	(native_save_fl() & X86_EFLAGS_IF)

/* The registers that a function is called with, or leaves. */
struct storm_registers {
	unsigned long ax, cx, dx, bx, si, bp, r8, r9, r10, r11;
	unsigned long client;	/* r12; a function of ours leaves it alone */
	unsigned long r13, r14, r15, di, flags;
};

#define ARCH_FIRST	di
#define ARCH_SECOND	si
#define ARCH_THIRD	dx
#define ARCH_RESULT	ax

static inline unsigned long arch_client(const struct pt_regs *regs)
{
	return regs->r12;
}

/* A detour's registers are right below the stack that it was entered with. */
static inline bool came_by_jump(const struct pt_regs *regs)
{
	return regs->sp == (unsigned long)(regs + 1);
}

#define ARCH_BELOW_THREAD	3
#define ARCH_UNWINDS_OTHERS	true
#define ARCH_MANY_CALLS	2000

/* Single steps: what the CPU reports of each, and turning them on. */
#define ARCH_STEPPED	DIE_DEBUG
/* In the flags that a function is called with. */
#define ARCH_STEP_FLAG	X86_EFLAGS_TF

static __always_inline void arch_step(bool on)
{
	unsigned long flags = native_save_fl() & ~X86_EFLAGS_TF;

	flags |= on ? X86_EFLAGS_TF : 0;
	asm volatile("push %0; popf" : : "r" (flags) : "memory", "cc");
}

#endif
