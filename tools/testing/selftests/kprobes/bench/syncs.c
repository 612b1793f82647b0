// SPDX-License-Identifier: GPL-2.0
/*
 * How often registering and unregistering interrupt all other CPUs.
 *
 * A thread keeps CPU 1 busy, so that nothing sent to it can be left out
 * because it sleeps; what is counted is its function call interrupts, or how
 * often it was stopped, for text patching or whatever else the implementation
 * does. CPU 0 works.
 */
#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include "bench.h"

#define ROUNDS	7

static struct kprobe probes[BENCH_MANY], *all[BENCH_MANY];
static void *sites[BENCH_MANY];

#ifndef bench_received
/* Runs of stop_machine(). */
static unsigned long bench_received(void)
{
	struct task_struct *task;
	unsigned long runs = 0;

	rcu_read_lock();
	for_each_process(task)
		if (!strcmp(task->comm, "migration/1"))
			runs = READ_ONCE(task->nvcsw);
	rcu_read_unlock();
	return runs;
}
#endif

static int spin(void *unused)
{
	while (!kthread_should_stop()) {
		cpu_relax();
		/* Tasks RCU must not wait for a thread that never sleeps. */
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}

static int insert(unsigned int count, u8 form)
{
	unsigned int i;
	int error;

	memset(probes, 0, sizeof(probes));
	for (i = 0; i < count; i++) {
		probes[i].addr = bench_other_site(i);
		probes[i].pre_handler = bench_pre;
		if (form != BENCH_JUMP)
			probes[i].post_handler = bench_post;
		all[i] = &probes[i];
	}
	error = register_kprobes(all, count);
	if (error || form != BENCH_JUMP)
		return error;
	for (i = 0; i < count; i++) {
		if (!bench_wait_form(probes[i].addr, form)) {
			unregister_kprobes(all, count);
			return -ETIMEDOUT;
		}
	}
	return 0;
}

/*
 * Detours that were left wait for all tasks; then their pages may be given back,
 * which interrupts the other CPUs as well, whenever that is. So none is to wait
 * while others are counted. Those left while one wait began have another.
 */
static void wait_for_the_left(void)
{
#ifdef CONFIG_TASKS_RCU
	rcu_barrier_tasks();
	rcu_barrier_tasks();
#endif
}

/* Takes them out and waits until the text is as it was. */
static int take_out(unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		sites[i] = probes[i].addr;
	unregister_kprobes(all, count);
	for (i = 0; i < count; i++)
		if (!bench_wait_form(sites[i], BENCH_SITE))
			return -ETIMEDOUT;
	return 0;
}

/*
 * The median of several rounds: now and then the kernel interrupts for reasons
 * of its own. A round before them makes what stays (pages of slots, caches).
 * What one round has left is not counted in the next.
 */
static void rows(const char *name, unsigned int count, u8 form)
{
	u64 in[ROUNDS], out[ROUNDS];
	char row[48], back[48];
	unsigned long before;
	int error = 0, round;

	snprintf(row, sizeof(row), "syncs_register_%s%u", name, count);
	snprintf(back, sizeof(back), "syncs_unregister_%s%u", name, count);
	for (round = -1; round < ROUNDS && !error; round++) {
		before = bench_received();
		error = insert(count, form);
		if (error)
			break;
		if (round >= 0)
			in[round] = bench_received() - before;
		before = bench_received();
		error = take_out(count);
		if (round >= 0)
			out[round] = bench_received() - before;
		wait_for_the_left();
	}
	if (error) {
		bench_failed(row, error);
		bench_failed(back, error);
		return;
	}
	bench_figures(row, "syncs", in, ROUNDS, 1);
	bench_figures(back, "syncs", out, ROUNDS, 1);
}

void bench_sync_rows(void)
{
	struct task_struct *spinner;

	if (num_online_cpus() != 2) {
		bench_failed("syncs", -ENODEV);
		return;
	}
	set_cpus_allowed_ptr(current, cpumask_of(0));
	spinner = kthread_create(spin, NULL, "kprobes_bench");
	if (IS_ERR(spinner)) {
		bench_failed("syncs", PTR_ERR(spinner));
		return;
	}
	kthread_bind(spinner, 1);
	wake_up_process(spinner);
	rows("", 1, BENCH_BREAKPOINT);
	rows("", BENCH_MANY, BENCH_BREAKPOINT);
	if (BENCH_JUMPS) {
		rows("optimized_", 1, BENCH_JUMP);
		rows("optimized_", BENCH_MANY, BENCH_JUMP);
	}
	kthread_stop(spinner);
}
