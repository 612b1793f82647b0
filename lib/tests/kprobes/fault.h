/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the architectures' cases of faults use of fault.c.
 */
#ifndef _KPROBES_CLAUSES_FAULT_H
#define _KPROBES_CLAUSES_FAULT_H

#include "step.h"

void clauses_try_fixup(struct kunit *test, const u8 *site,
		       long (*function)(const long *from), const long *from);

/* Memory of user space that is not there yet. */
unsigned long clauses_user_page(struct kunit *test);

/* What a fault handler was told last, and how often it was called. */
struct fault {
	int times;
	int trap;
	struct kprobe *probe;
	unsigned long ip;
};

extern struct fault clauses_told;

int clauses_note_fault(struct kprobe *kp, struct pt_regs *regs, int trapnr);

#endif
