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

void clauses_after(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	struct counted *probe = container_of(kp, struct counted, kp);

	probe->after++;
	probe->turn_after = ++turn;
	probe->ip_after = instruction_pointer(regs);
	probe->flags_after = flags;
}

int clauses_try(struct counted probe)
{
	int err = register_kprobe(&probe.kp);

	if (!err)
		unregister_kprobe(&probe.kp);
	return err;
}

/* For who looks at the files in debugfs: an address, or a symbol and an offset. */
static int set_try(const char *text, const struct kernel_param *param)
{
	char symbol[KSYM_NAME_LEN];
	unsigned int offset = 0;
	unsigned long at;

	if (!kstrtoul(text, 16, &at))
		return clauses_try(COUNTED_IN(at));
	if (sscanf(text, "%511[^+\n ]+%u", symbol, &offset) < 1)
		return -EDOM;
	return clauses_try(COUNTED_AT(symbol, .offset = offset));
}

static const struct kernel_param_ops try_ops = { .set = set_try };
module_param_cb(try, &try_ops, NULL, 0200);

/*
 * The address of what looks symbols up, which is not exported either, is asked
 * of kprobes.
 */
void *clauses_symbol(const char *name)
{
	struct kprobe probe = { .symbol_name = "kallsyms_lookup_name" };
	unsigned long (*lookup)(const char *name);
	unsigned long offset = 0;
	char text[KSYM_SYMBOL_LEN];

	if (IS_ENABLED(CONFIG_X86_KERNEL_IBT) || IS_ENABLED(CONFIG_CFI))
		return NULL;
	if (register_kprobe(&probe))
		return NULL;
	/* A probe on an entry may be behind the function's first address. */
	sprint_symbol(text, (unsigned long)probe.addr);
	if (sscanf(strchrnul(text, '+'), "+%lx", &offset) != 1)
		offset = 0;
	lookup = (void *)probe.addr - offset + POINTER_BIT;
	unregister_kprobe(&probe);
	return (void *)lookup(name);
}

MODULE_DESCRIPTION("Clauses of the kprobes interface, one KUnit case each");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");
