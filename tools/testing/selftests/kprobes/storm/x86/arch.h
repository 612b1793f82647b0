/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the storm has to know of x86 beside the functions in the .S files here.
 */
#ifndef _KPROBES_STORM_ARCH_H
#define _KPROBES_STORM_ARCH_H

#include <linux/ptrace.h>
#include <linux/text-patching.h>
#include <asm/ibt.h>
#include <asm/insn.h>
#include <asm/irqflags.h>
#include <asm/processor-flags.h>

/* Bytes before a function's first instruction that may be probed. */
#define ARCH_MARK	(IS_ENABLED(CONFIG_X86_KERNEL_IBT) ? 4 : 0)

/* A jump in the place of a breakpoint: its first byte, and how long it is. */
#define ARCH_JUMP	JMP32_INSN_OPCODE
#define ARCH_JUMP_SIZE	JMP32_INSN_SIZE

/* Flags that the functions use or change. */
#define ARCH_CARRY	X86_EFLAGS_CF
#define ARCH_FLAGS	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF |	\
			 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_OF)

/* The flag that says whether interrupts may come, as it is now. */
static inline unsigned long arch_interrupt_flag(void)
{
	return native_save_fl() & X86_EFLAGS_IF;
}

/* The registers that a function is called with, or leaves. */
struct jump_registers {
	unsigned long ax, cx, dx, bx, si, bp, r8, r9, r10, r11;
	unsigned long r12;	/* the client; a function of ours leaves it alone */
	unsigned long r13, r14, r15, di, flags;
};

static inline unsigned long arch_client(const struct pt_regs *regs)
{
	return regs->r12;
}

/* A detour's registers are right below the stack that it was entered with. */
static inline bool came_by_jump(const struct pt_regs *regs)
{
	return regs->sp == (unsigned long)(regs + 1);
}

#endif
