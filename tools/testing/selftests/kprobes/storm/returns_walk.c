// SPDX-License-Identifier: GPL-2.0
/*
 * The functions that a storm of return probes hits, and how they are called.
 * Each call is counted before it is made.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/irqflags.h>
#include <linux/kthread.h>
#include <linux/printk.h>
#include <linux/wait.h>
#include "returns.h"

struct return_target return_targets[RETURNS] = {
	[RETURN_LEAF] = { "leaf", return_at_leaf, return_twin_leaf },
	[RETURN_INNER] = { "inner", return_at_inner, return_twin_inner },
	[RETURN_OUTER] = { "outer", return_at_outer, return_twin_outer },
	[RETURN_RECURSE] = { "recurse", return_recurse },
	[RETURN_PASS] = { "pass", return_pass },
	[RETURN_END] = { "end", return_end },
};

DECLARE_WAIT_QUEUE_HEAD(return_bed);

static __always_inline void count(enum return_number number)
{
	atomic_long_inc(&return_targets[number].calls);
}

long return_result(enum return_number number, long value, long left)
{
	static const long more[RETURNS] = { 5, 5, 7, 9, 7, 5 };

	/* To the others the compiler passes anything. */
	return value + more[number] + (number == RETURN_RECURSE ? 2 * left : 0);
}

static void doze(struct walk *walk)
{
	WRITE_ONCE(walk->naps, walk->naps + 1);
	wait_event_killable_timeout(return_bed, READ_ONCE(storm_over),
				    walk->sleep);
	WRITE_ONCE(walk->naps, walk->naps + 1);
}

/* Nobody calls these but the one before, nor as the last thing that it does. */
noinline __noclone notrace long return_end(struct walk *walk, long value,
					   long left)
{
	if (walk->end == WALK_UNWIND) {
		return_look_at_self(walk);
	} else if (walk->end == WALK_SLEEP) {
		doze(walk);
	} else if (walk->end == WALK_EXIT) {
		atomic_long_inc(&return_counts.deaths);
		kthread_complete_and_exit(NULL, 0);
	}
	barrier();
	return value + 5;
}

noinline __noclone notrace long return_pass(struct walk *walk, long value,
					    long left)
{
	long found;

	count(RETURN_END);
	found = return_end(walk, value + 1, 0);
	barrier();
	return found + 1;
}

noinline __noclone long return_recurse(struct walk *walk, long value, long left)
{
	const unsigned int level = walk->depth - left;
	long found;

	WRITE_ONCE(walk->level, level);
	if (left) {
		count(RETURN_RECURSE);
		found = return_recurse(walk, value + 1, left - 1);
	} else {
		count(RETURN_PASS);
		found = return_pass(walk, value + 1, 0);
	}
	WRITE_ONCE(walk->level, level);
	return found + 1;
}

static void is_wrong(enum return_number number, long found, long right)
{
	if (atomic_long_inc_return(&return_counts.wrong) < 10)
		pr_err("%s returns %ld and not %ld\n",
		       return_targets[number].name, found, right);
}

noinline __noclone notrace void return_start(struct walk *walk, long value)
{
	long right = return_result(RETURN_RECURSE, value, walk->depth);
	long found;

	WRITE_ONCE(walk->level, 0);
	WRITE_ONCE(walk->under_way, true);
	count(RETURN_RECURSE);
	found = return_recurse(walk, value, walk->depth);
	WRITE_ONCE(walk->under_way, false);
	if (found != right)
		is_wrong(RETURN_RECURSE, found, right);
}

static void count_with_inner(enum return_number number)
{
	count(number);
	if (number == RETURN_OUTER)
		count(RETURN_INNER);
}

void return_call(enum return_number number, struct walk *walk, long value)
{
	long right = return_result(number, value, 0);
	long found;

	count_with_inner(number);
	found = return_targets[number].function(walk, value, 0);
	if (found != right)
		is_wrong(number, found, right);
}

/* All registers and flags that it leaves must be what its twin has left. */
void return_compare(enum return_number number, struct walk *walk, u32 bits)
{
	struct return_target *target = &return_targets[number];
	struct storm_registers given, right, found;

	/* The stack could not be unwound where there is any number in rbp. */
	if (IS_ENABLED(CONFIG_FRAME_POINTER)) {
		return_call(number, walk, bits);
		return;
	}
	storm_fill(&given, bits);
	given.ARCH_FIRST = (unsigned long)walk;
	given.ARCH_SECOND = bits;
	given.ARCH_THIRD = 0;
	right = given;
	found = given;
	storm_run(&right, target->twin, 1);
	count_with_inner(number);
	storm_run(&found, target->function, 1);
	if (storm_is_right(target->name, &given, &right, &found,
			   &return_counts.wrong) &&
	    found.ARCH_RESULT != return_result(number, bits, 0))
		is_wrong(number, found.ARCH_RESULT,
			 return_result(number, bits, 0));
}
