// SPDX-License-Identifier: GPL-2.0
/*
 * Those who hit: threads, and a timer on each CPU that also looks at what it
 * has interrupted.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/uaccess.h>
#include <asm/irq_regs.h>
#include "storm.h"

noinline long storm_traced(long value)
{
	barrier();
	return value + 5;
}

/*
 * Counted before it is called, at each of its sites: a hit is counted while it
 * goes on.
 */
void storm_call(unsigned int number, long value)
{
	struct target *target = &storm_targets[number], *each;
	long result;

	for (each = storm_targets; each < storm_targets + TARGETS; each++)
		if (each->function == target->function)
			atomic_long_inc(&each->calls);
	result = target->function(value);
	if (result != value + 5 &&
	    atomic_long_inc_return(&storm_counts.wrong) < 10)
		pr_err("%s(%ld) returns %ld\n", target->name, value, result);
}

/* By tasks, since the last tick. */
static DEFINE_PER_CPU(int, runs);
static DEFINE_PER_CPU(unsigned int, interval);

void storm_ran(int times)
{
	this_cpu_add(runs, times);
}

/* Intervals of timers, in microseconds, where tasks hardly get on. */
#define SELDOM	100000

unsigned int storm_pace(unsigned int least, int few)
{
	unsigned int next = max(this_cpu_read(interval), least);
	int count = this_cpu_xchg(runs, 0);

	if (count < few)
		next = min(2 * next, max_t(unsigned int, SELDOM, least));
	else if (count > 4 * few)
		next = max(next / 2, least);
	this_cpu_write(interval, next);
	return next;
}

int storm_hitter(void *number)
{
	long value = (long)number;

	while (!READ_ONCE(storm_over)) {
		int times;

		for (times = 0; times < 64; times++, value++)
			storm_call(value % TARGETS, value);
		storm_ran(times);
		/* Else who waits for all tasks would wait for it. */
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}

/* The instruction at storm_move_site, over which a breakpoint may be. */
static const u8 move[] = ARCH_MOVE;

static bool is_move(unsigned long at)
{
	u8 code[sizeof(move)];

	return !copy_from_kernel_nofault(code, (void *)at, sizeof(code)) &&
	       !memcmp(code, move, sizeof(code));
}

/* Is it at the copied instruction, or right behind it? */
static bool in_copy(unsigned long ip)
{
	if (ip >= (unsigned long)storm_text_begin &&
	    ip < (unsigned long)storm_text_end)
		return false;
	return is_move(ip) || is_move(ip - sizeof(move));
}

#define FEW_CALLS	24

/* Hits, too, and has the task that it has found in a copy put aside there. */
unsigned int storm_tick(struct pt_regs *regs, long number)
{
	atomic_long_inc(&storm_counts.ticks);
	if (regs && in_copy(instruction_pointer(regs))) {
		atomic_long_inc(&storm_counts.inside);
		set_tsk_need_resched(current);
		set_preempt_need_resched();
	}
	storm_call(number % TARGETS, number);
	return storm_pace(storm_tick_us, FEW_CALLS);
}

struct ticker {
	struct hrtimer timer;
	long number;
	bool started;
};

static DEFINE_PER_CPU(struct ticker, tickers);
static storm_tick_fn *ticks;

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	struct ticker *ticker = container_of(timer, struct ticker, timer);
	struct pt_regs *regs = get_irq_regs();
	u64 next = ticks(regs && !user_mode(regs) ? regs : NULL,
			 ++ticker->number);

	hrtimer_forward_now(timer, ns_to_ktime(next * NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

static void start_timer(void *unused)
{
	struct ticker *ticker = this_cpu_ptr(&tickers);

	hrtimer_setup(&ticker->timer, tick, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
	ticker->started = true;
	hrtimer_start(&ticker->timer, ns_to_ktime(NSEC_PER_MSEC),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

void storm_start_timers(storm_tick_fn *tick)
{
	ticks = tick;
	on_each_cpu(start_timer, NULL, true);
}

/* One whose CPU has gone was moved to another. */
void storm_stop_timers(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct ticker *ticker = per_cpu_ptr(&tickers, cpu);

		if (ticker->started)
			hrtimer_cancel(&ticker->timer);
		ticker->started = false;
	}
}
