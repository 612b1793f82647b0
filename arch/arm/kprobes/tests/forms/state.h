/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of an arm CPU that forms begin and end with, and what there is to
 * know of a form.
 */
#ifndef KPROBES_FORMS_STATE_H
#define KPROBES_FORMS_STATE_H

/* The part of the stack that a form may use, and how much of that is below SP. */
#define FORMS_STACK		128
#define FORMS_BELOW		64

/* A stack has 8 KiB. */
#define FORMS_DISTANCE		1024

/* struct forms_state */
#define FORMS_FLAGS		128
#define FORMS_WHERE		136
#define FORMS_STACK_AT		144

/* struct form's flags */
#define FORM_KILLS_C		0
#define FORM_FOLLOWED		0
/* Each word of its part of the stack is where a branch is to lead. */
#define FORM_STACK_LEADS	0x10000
/* It loads or stores with the rights of a user. */
#define FORM_FOR_USERS		0x20000
/* Of VFP, or Advanced SIMD. */
#define FORM_VFP		0x40000

#define FORMS_PERCPU		0
/* Handlers run with interrupts off; kernel_neon_begin() wants them on. */
#define FORMS_NESTED(form)						\
	(input.flags & PSR_I_BIT && !((form)->flags & FORM_VFP))
#define FORMS_POSITIONS		1
#define FORMS_JUMPS		IS_ENABLED(CONFIG_OPTPROBES)
#define FORMS_JUMPS_LEAST	6680
#define FORMS_TRAP		0
/* It stops all CPUs. */
#define FORMS_DISABLED_EACH	32

#ifndef __ASSEMBLY__

#include <linux/types.h>

/* All that an instruction can see and change, memory aside. */
struct forms_state {
	u64 gpr[16];
	u64 flags;	/* CPSR */
	u64 where;
	u32 stack[FORMS_STACK / 4];
	u64 vfp[33];	/* the last is FPSCR */
};

struct form_of_arch {
	u8 contents[8];		/* of registers: enum contents, four bits each */
	u16 condition;
};

#endif /* !__ASSEMBLY__ */
#endif /* KPROBES_FORMS_STATE_H */
