// SPDX-License-Identifier: GPL-2.0
/*
 * A storm of return probes. Writing a number of seconds to the parameter
 * "returns" or "returns_loose" lets it rage for so long; while it does, a task
 * that writes milliseconds to "returns_visit" sleeps in a probed function for
 * so long. "return_counts" tells.
 *
 * While it is loose, whoever wants to may turn all probes off and on.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include "returns.h"

struct return_counts return_counts;

struct caller {
	struct task_struct *task;
	struct walk walk;
	struct return_tail tail;
};

static struct caller callers[HITTERS];

static int call(void *number)
{
	struct caller *caller = &callers[(long)number];
	struct walk *walk = &caller->walk;
	struct rnd_state random;

	return_learn_tail(&caller->tail);
	walk->tail = &caller->tail;
	/* Who finds the task finds the tail, too: see tick(). */
	smp_store_release(&caller->task, current);
	prandom_seed_state(&random, 0x63616c6c + (long)number);
	while (!READ_ONCE(storm_over)) {
		int times;

		for (times = 0; times < 32; times++) {
			u32 bits = prandom_u32_state(&random);

			walk->depth = bits % (WALK_MOST + 1);
			walk->end = bits & 0xf00 ? WALK_BACK : WALK_UNWIND;
			if (bits & 0x1000)
				return_start(walk, bits >> 16);
			else
				return_compare(bits & 0x2000 ? RETURN_LEAF :
							       RETURN_OUTER,
					       walk, bits >> 16);
		}
		storm_ran(times);
		if (prandom_u32_state(&random) % 4)
			usleep_range(20, 200);
		else
			cond_resched_tasks_rcu_qs();
	}
	WRITE_ONCE(caller->task, NULL);
	return 0;
}

static int others(void *number)
{
	if ((long)number == 0)
		return return_crowd();
	if ((long)number == 1)
		return return_onlooker();
	return return_churner((long)number - 2);
}

static DEFINE_PER_CPU(struct walk, of_tick);

#define FEW_CALLS	24

/* Looks at what it has interrupted, and calls itself. */
static unsigned int tick(struct pt_regs *regs, long number)
{
	struct walk *walk = this_cpu_ptr(&of_tick);
	int n;

	atomic_long_inc(&return_counts.ticks);
	for (n = 0; regs && n < HITTERS; n++) {
		/* The tail is read behind it: see call(). */
		struct task_struct *task = smp_load_acquire(&callers[n].task);

		if (task == current && callers[n].walk.under_way)
			return_look_from_tick(&callers[n].walk);
	}
	walk->depth = number % 2;
	return_start(walk, number);
	return_call(RETURN_OUTER, walk, number);
	return storm_pace(storm_tick_us, FEW_CALLS);
}

/*
 * Many are to be under way, and each kind of look to have been taken. Who
 * begins while the switch is off is not among them, and a slow machine takes
 * longer to turn it than it is on.
 */
#define MANY		ARCH_MANY_CALLS
#define MANY_LOOSELY	(ARCH_MANY_CALLS / 4)

#define COUNT(of, wanted)	STORM_COUNT(return_counts, of, wanted)
/* With frame pointers, see returns_unwind.c. */
#define COUNT_SOME_BY_ORC						\
	(IS_ENABLED(CONFIG_UNWINDER_ORC) ? COUNT_SOME : COUNT_ANY)
#define COUNT_SOME_AT_ENTRIES						\
	(IS_ENABLED(CONFIG_ARM_UNWIND) ? COUNT_SOME : COUNT_SOME_BY_ORC)
#define COUNT_SOME_OF_OTHERS						\
	(ARCH_UNWINDS_OTHERS ? COUNT_SOME : COUNT_ANY)

static struct storm_count counted[] = {
	COUNT(wrong, COUNT_NONE), COUNT(mixed_up, COUNT_NONE),
	COUNT(late, COUNT_NONE), COUNT(refused, COUNT_NONE),
	COUNT(uneven, COUNT_NONE), COUNT(miscounted, COUNT_NONE),
	COUNT(unwound_wrongly, COUNT_NONE), COUNT(by_itself, COUNT_SOME),
	COUNT(by_entries, COUNT_SOME_AT_ENTRIES), COUNT(by_returns, COUNT_SOME),
	COUNT(by_others, COUNT_SOME_OF_OTHERS), COUNT(by_ticks, COUNT_SOME_BY_ORC),
	COUNT(cut, COUNT_ANY), COUNT(moved, COUNT_ANY),
	COUNT(rounds, COUNT_SOME), COUNT(lost, COUNT_ANY),
	COUNT(deaths, COUNT_SOME), COUNT(killed, COUNT_ANY),
	COUNT(open, COUNT_ANY), COUNT(ticks, COUNT_ANY), {}
};

module_param_cb(return_counts, &storm_counts_ops, counted, 0400);

static bool is_enough(void)
{
	return atomic_long_read(&return_counts.open) >=
		       (return_strict ? MANY : MANY_LOOSELY) &&
	       storm_counts_are(counted, COUNT_SOME);
}

static time64_t long_enough;

static bool is_over(void)
{
	return is_enough() && ktime_get_seconds() >= long_enough;
}

/* Where the machine is slow it rages longer, till there was enough. */
#define MOST_LONGER	12

static int returns(unsigned int seconds, bool strict)
{
	static const struct storm_crew crews[2] = {
		{ call, HITTERS }, { others, 2 + RETURN_CHURNERS },
	};
	int err;

	memset(&return_counts, 0, sizeof(return_counts));
	return_strict = strict;
	err = return_watch_kernel();
	if (err)
		return err;
	err = return_watch();
	if (err) {
		return_unwatch_kernel();
		return err;
	}
	long_enough = ktime_get_seconds() + seconds;
	return_open_gate();
	storm_rage(MOST_LONGER * seconds, crews, tick, is_over);
	err = return_close_gate();
	err = return_unwatch(strict) ?: err;
	err = return_unwatch_kernel() ?: err;
	if (!is_enough()) {
		pr_err("that was not enough: see the counts that are 0, and open\n");
		err = err ?: -EIO;
	}
	return err ?: storm_counts_are(counted, COUNT_NONE) ? 0 : -EIO;
}

#define STORM(what, is_strict)						\
	.rage = what, .strict = is_strict, .prepare = return_learn,	\
	.begin = return_text_begin, .end = return_text_end

static struct storm_kind of_returns = { STORM(returns, true) };
static struct storm_kind of_returns_loose = { STORM(returns, false) };
module_param_cb(returns, &storm_ops, &of_returns, 0200);
module_param_cb(returns_loose, &storm_ops, &of_returns_loose, 0200);

/* Many may do so, while a storm rages. */
static struct storm_kind of_visits = { .rage = return_visit };
module_param_cb(returns_visit, &storm_ops, &of_visits, 0200);
