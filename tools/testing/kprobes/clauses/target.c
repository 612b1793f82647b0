// SPDX-License-Identifier: GPL-2.0
/*
 * What the cases probe, and the handlers that count.
 */
#include <linux/module.h>
#include "clauses.h"

noinline int kprobes_clauses_target(int value)
{
	barrier();
	return value + 1;
}

noinline int kprobes_clauses_other(int value)
{
	barrier();
	return value + 2;
}

notrace noinline int kprobes_clauses_untraced(int value)
{
	barrier();
	return value + 3;
}

int (*clauses_call)(int value) = kprobes_clauses_target;
int (*clauses_call_other)(int value) = kprobes_clauses_other;
int (*clauses_call_untraced)(int value) = kprobes_clauses_untraced;

static unsigned int turn;

int clauses_before(struct kprobe *kp, struct pt_regs *regs)
{
	struct counted *probe = container_of(kp, struct counted, kp);

	probe->before++;
	probe->turn_before = ++turn;
	probe->ip_before = instruction_pointer(regs);
	return 0;
}

void clauses_after(struct kprobe *kp, struct pt_regs *regs,
		   unsigned long flags)
{
	struct counted *probe = container_of(kp, struct counted, kp);

	probe->after++;
	probe->turn_after = ++turn;
	probe->ip_after = instruction_pointer(regs);
	probe->flags_after = flags;
}

MODULE_DESCRIPTION("Clauses of the kprobes interface, one KUnit case each");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");
