/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of an x86 CPU that forms begin and end with, and what there is to
 * know of a form.
 */
#ifndef KPROBES_FORMS_STATE_H
#define KPROBES_FORMS_STATE_H

/* The part of the stack that a form may use; RSP starts in its middle. */
#define FORMS_STACK		512

/* How far that has to be below who calls forms_run(). */
#define FORMS_DISTANCE		1024

/* XSAVE's standard format, up to and with the upper halves of YMM. */
#define FORMS_XSAVE		832

/* struct forms_state */
#define FORMS_GPR		0
#define FORMS_SP		(4 * 8)
#define FORMS_FLAGS		128
#define FORMS_WHERE		136
#define FORMS_FROM_SP		144
#define FORMS_STACK_AT		192
#define FORMS_XSAVE_AT		(FORMS_STACK_AT + FORMS_STACK)

/* struct form's flags; those below bit 16 are registers not to compare. */
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

#define FORMS_SECOND		1
#define FORMS_THIRD		2
#define FORMS_POSITIONS		3

/* jumps.c has those. */
#define FORMS_JUMPS		0
#define FORMS_JUMPS_LEAST	0

/* How far behind a probe handlers are shown the instruction pointer. */
#define FORMS_TRAP		1

/* Of how many probes one is disabled; the others stay. */
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

#define PERCPU		64

/* What is compared. */
struct outcome {
	struct forms_state state;
	u8 scratch[FORMS_SCRATCH];
	u8 percpu[PERCPU];
};

/*
 * An instruction in a place of its own, from cases.S. Each of the first words
 * says how far from itself something is; ask the functions in forms.h for
 * where.
 */
struct form {
	s32 stub;
	s32 site[FORMS_POSITIONS];
	s32 up_to[FORMS_POSITIONS];
	s32 next;
	s32 taken;
	s32 name;
	u32 flags;
	u16 feature;
	s16 refused;
};

/* As the stub, but no further than to there. */
static inline void (*form_up_to(const struct form *form, int position))(void)
{
	const s32 *distance = &form->up_to[position];

	return (void *)distance + *distance;
}

#endif /* !__ASSEMBLY__ */
#endif /* KPROBES_FORMS_STATE_H */
