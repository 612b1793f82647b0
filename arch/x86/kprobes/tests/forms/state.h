/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of an x86 CPU that forms begin and end with, and what there is to
 * know of a form.
 */
#ifndef KPROBES_FORMS_STATE_H
#define KPROBES_FORMS_STATE_H

/* The part of the stack that a form may use; RSP starts in its middle. */
#define FORMS_STACK		512

#define FORMS_DISTANCE		1024

/* XSAVE's standard format, up to and with the upper halves of YMM. */
#define FORMS_XSAVE		832

/* struct forms_state */
#define FORMS_SP		(4 * 8)
#define FORMS_FLAGS		128
#define FORMS_WHERE		136
#define FORMS_FROM_SP		144
#define FORMS_STACK_AT		192
#define FORMS_XSAVE_AT		(FORMS_STACK_AT + FORMS_STACK)

/* struct form's flags */
#define FORM_FAULTS		0x10000
#define FORM_KILLS_C		0x20000
/* It has an entry in the exception table. */
#define FORM_FIXUP		0x40000
/* It leads back to what is before it, once, if the carry flag is set. */
#define FORM_AGAIN		0x80000
/* The probe is not where it begins. */
#define FORM_INSIDE		0x100000
/* More runs behind it than behind each form. */
#define FORM_FOLLOWED		0x200000
/* It cannot be probed itself, but may move behind another one. */
#define FORM_MOVES		0x400000

#define FORMS_PERCPU		64
#define FORMS_NESTED(form)	false
#define FORMS_POSITIONS		3
/* jumps.c has those. */
#define FORMS_JUMPS		0
#define FORMS_JUMPS_LEAST	0
#define FORMS_TRAP		1
#define FORMS_DISABLED_EACH	1

#ifndef __ASSEMBLY__

#include <linux/types.h>

/* All that an instruction can see and change, memory aside. */
struct forms_state {
	u64 gpr[16];
	u64 flags;
	u64 where;
	u64 from_sp;
	u64 unused[5];
	u64 stack[FORMS_STACK / 8];
	u8 xsave[FORMS_XSAVE];
} __aligned(64);

struct form_of_arch {
	s32 up_to[FORMS_POSITIONS];	/* distances, as the others */
	u32 feature;
};

/* As the stub, but no further than to there. */
#define form_up_to(form, position)	forms_from(&(form)->arch.up_to[position])

#endif /* !__ASSEMBLY__ */
#endif /* KPROBES_FORMS_STATE_H */
