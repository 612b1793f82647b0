// SPDX-License-Identifier: GPL-2.0
/*
 * What the cases of return probes probe, and the handlers that count.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kallsyms.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include "returns.h"

noinline long kprobes_returns_inner(returns_what what, void *data)
{
	return what(data) + 1;
}

noinline long kprobes_returns_outer(returns_what what, void *data)
{
	return kprobes_returns_inner(what, data) + 1;
}

notrace noinline long kprobes_returns_untraced(returns_what what, void *data)
{
	return what(data) + 1;
}

static long (*deeper)(long depth) = kprobes_returns_deep;

/* The compiler, which sees what it calls, would make a loop of it. */
noinline long kprobes_returns_deep(long depth)
{
	return depth > 1 ? READ_ONCE(deeper)(depth - 1) + 1 : 1;
}

kprobe_opcode_t *returns_entry(void)
{
	struct kprobe probe = { .symbol_name = INNER };

	/* A pointer is the global entry there, and calls come to the local one. */
	if (!IS_ENABLED(CONFIG_PPC64) || register_kprobe(&probe))
		return (kprobe_opcode_t *)kprobes_returns_inner;
	unregister_kprobe(&probe);
	return probe.addr;
}

long returns_nothing(void *unused)
{
	return 0;
}

static unsigned int turn;

static void look_around(struct watched *probe)
{
	if (preemptible() || READ_ONCE(probe->gone))
		atomic_inc(&probe->wrong);
}

/* Where the call that has just begun will return to. */
static unsigned long returns_to(struct pt_regs *regs)
{
#if defined(CONFIG_X86_64)
	return *(unsigned long *)kernel_stack_pointer(regs);
#elif defined(CONFIG_ARM)
	return regs->ARM_lr;
#elif defined(CONFIG_PPC64)
	return regs->link;
#elif defined(CONFIG_S390)
	return regs->gprs[14];
#endif
}

int watched_entered(struct kretprobe_instance *call, struct pt_regs *regs)
{
	struct watched *probe = watched_by(call);

	look_around(probe);
	probe->turn_entered = ++turn;
	probe->call = call;
	probe->on_stack = returns_to(regs);
	atomic_inc(&probe->entered);
	return 0;
}

int watched_returned(struct kretprobe_instance *call, struct pt_regs *regs)
{
	struct watched *probe = watched_by(call);

	look_around(probe);
	probe->turn_returned = ++turn;
	probe->ip = instruction_pointer(regs);
	probe->to = get_kretprobe_retaddr(call);
	probe->value = regs_return_value(regs);
	probe->task = current;
	atomic_inc(&probe->returned);
	return 0;
}

void watched_anew(struct watched *probe)
{
	probe->rp.kp.addr = NULL;
	probe->rp.kp.flags = 0;
	atomic_set(&probe->entered, 0);
	atomic_set(&probe->returned, 0);
	atomic_set(&probe->wrong, 0);
	WRITE_ONCE(probe->gone, false);
}

int refused_by(struct watched *probe)
{
	int err = register_kretprobe(&probe->rp);

	if (!err)
		unregister_kretprobe(&probe->rp);
	return err;
}

void expect_told(struct kunit *test, const struct watched *probe, int entered,
		 int returned, int line)
{
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&probe->entered), entered,
			    "in line %d", line);
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&probe->returned), returned,
			    "in line %d", line);
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&probe->wrong), 0,
			    "in line %d", line);
}

void expect_stores(struct kunit *test, size_t count, int line)
{
	COMES_TRUE(rust_kprobes_return_pools() == count);
	KUNIT_EXPECT_EQ_MSG(test, rust_kprobes_return_pools(), count,
			    "in line %d", line);
}

bool returns_is_in(unsigned long at, const char *function)
{
	char name[KSYM_SYMBOL_LEN];
	size_t length = strlen(function);

	sprint_symbol_no_offset(name, at);
	/* Its module may stand behind it. */
	return !strncmp(name, function, length) &&
	       (!name[length] || name[length] == ' ');
}

/* That of how large a store becomes by itself; C has none. */
static struct file *limit;

int returns_grow(bool may)
{
	const char *text = may ? "4096\n" : "0\n";
	loff_t position = 0;

	if (IS_ENABLED(CONFIG_KPROBES_C))
		return 0;
	return kernel_write(limit, text, strlen(text), &position) ==
	       strlen(text) ? 0 : -EIO;
}

int returns_open(struct kunit_suite *suite)
{
	if (IS_ENABLED(CONFIG_KPROBES_C))
		return 0;
	limit = filp_open("/proc/sys/debug/kretprobes-growth-limit", O_WRONLY,
			  0);
	return PTR_ERR_OR_ZERO(limit);
}

void returns_close(struct kunit_suite *suite)
{
	if (!IS_ERR_OR_NULL(limit))
		filp_close(limit, NULL);
}

static bool known;
static size_t others;

/* What the case before has had in store is gone, unless that has failed. */
int returns_begin(struct kunit *test)
{
	if (known)
		COMES_TRUE(rust_kprobes_return_pools() == others);
	others = rust_kprobes_return_pools();
	known = true;
	return 0;
}

void returns_end(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, returns_grow(true), 0);
	EXPECT_STORES(test, others);
}
