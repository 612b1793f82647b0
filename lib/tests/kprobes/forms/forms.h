/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the C part, the way in and out (run.S) and the generated cases agree
 * on. The architecture's state.h has the state of a CPU, struct form_of_arch, and
 *
 * FORMS_STACK		the part of the stack that a form may use
 * FORMS_DISTANCE	how far that has to be below who calls forms_run()
 * FORMS_POSITIONS	of a probe to a form
 * FORMS_PERCPU		memory of the CPU's own that a form may use
 * FORMS_NESTED(form)	can this be run from this state in a handler?
 * FORMS_JUMPS		are forms run with jumps, too?
 * FORMS_JUMPS_LEAST	how many of them must be jumps then
 * FORMS_TRAP		how far behind a probe handlers are shown the address
 * FORMS_DISABLED_EACH	of how many probes one is disabled; the others stay
 * FORM_KILLS_C		a flag; those below bit 16 are registers not to compare
 */
#ifndef KPROBES_FORMS_H
#define KPROBES_FORMS_H

/* The memory that operands are in; pointers to it point to its middle. */
#define FORMS_SCRATCH		1024

/* Where a form led. */
#define FORMS_FELL		0
#define FORMS_TAKEN		1
#define FORMS_ASTRAY		2

/* Which instruction the form is, from the probe on. */
#define FORMS_FIRST		0

#include "state.h"

#ifndef __ASSEMBLY__

/* What is compared. */
struct outcome {
	struct forms_state state;
	u8 scratch[FORMS_SCRATCH];
	u8 percpu[FORMS_PERCPU];
};

/*
 * An instruction in a place of its own, from cases.S. Each of the first words
 * says how far from itself something is.
 */
struct form {
	s32 stub;
	s32 site[FORMS_POSITIONS];
	s32 next;
	s32 taken;
	s32 name;
	u32 flags;
	struct form_of_arch arch;
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

/* Not called, but where a form leads that should not. */
void forms_astray(void);

void forms_run(struct forms_state *in, struct forms_state *out,
	       void (*stub)(void));

#endif /* !__ASSEMBLY__ */
#endif /* KPROBES_FORMS_H */
