/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the C part, the way in and out (run.S) and the generated cases agree
 * on.
 */
#ifndef KPROBES_FORMS_H
#define KPROBES_FORMS_H

/* The part of the stack that a form may use; RSP starts in its middle. */
#define FORMS_STACK		512

/* The memory that operands are in; pointers to it point to its middle. */
#define FORMS_SCRATCH		1024

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

/* Where a form led. */
#define FORMS_FELL		0
#define FORMS_TAKEN		1
#define FORMS_ASTRAY		2

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

/* Which instruction the form is, from the probe on. */
#define FORMS_FIRST		0
#define FORMS_SECOND		1
#define FORMS_THIRD		2
#define FORMS_POSITIONS		3

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

/*
 * An instruction in a place of its own, from cases.S. Each of the first words
 * says how far from itself something is; ask the functions below for where.
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

static inline void *forms_from(const s32 *distance)
{
	return (void *)distance + *distance;
}

static inline void (*form_stub(const struct form *form))(void)
{
	return forms_from(&form->stub);
}

/* Where a probe is that has it in that position. */
static inline void *form_site(const struct form *form, int position)
{
	return forms_from(&form->site[position]);
}

/* As the stub, but no further than to there. */
static inline void (*form_up_to(const struct form *form, int position))(void)
{
	return forms_from(&form->up_to[position]);
}

static inline void *form_next(const struct form *form)
{
	return forms_from(&form->next);
}

static inline void *form_taken(const struct form *form)
{
	return forms_from(&form->taken);
}

static inline char *form_name(const struct form *form)
{
	return forms_from(&form->name);
}

/* Forms that are reported together. */
struct forms_group {
	const char *name;
	const struct form *forms;
	u64 count;
};

extern const struct forms_group forms_groups[];
extern const u64 forms_group_count;
extern u64 forms_scratch[FORMS_SCRATCH / 8];

/* The form's part of the stack; the same as long as runs are compared. */
extern unsigned long forms_window;

/* How far that has to be below who calls forms_run(). */
#define FORMS_DISTANCE		1024

/* Not called, but where a form leads that should not. */
void forms_astray(void);

void forms_run(struct forms_state *in, struct forms_state *out,
	       void (*stub)(void));

#endif /* !__ASSEMBLY__ */
#endif /* KPROBES_FORMS_H */
