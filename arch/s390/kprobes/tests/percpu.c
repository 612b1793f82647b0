// SPDX-License-Identifier: GPL-2.0
/*
 * Per-CPU sections, see asm/entry-percpu.h. The lowcore says which register one
 * uses, and a return from an interrupt corrects that register if the task is on
 * another CPU by then. So the section must look as if there were no probe.
 */
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <asm/dis.h>
#include "clauses.h"

static DEFINE_PER_CPU(long, counter);

static noinline notrace void count_here(void)
{
	this_cpu_add(counter, 1);
}

/* On each instruction; how often the task has come to it from another CPU. */
#define MOST_PLACES	16
static struct counted places[MOST_PLACES];
static int moved[MOST_PLACES];
static long expected[NR_CPUS];
static int count, cpu_before;
static bool may_move;
static struct task_struct *mover;

/* LAAG or AGSI: what the section is for. A breakpoint may be over the first byte. */
static bool counts(u8 first, const u8 *code)
{
	return first == 0xeb && (code[5] == 0x7a || code[5] == 0xe8);
}

static int is_moved(struct kprobe *kp, struct pt_regs *regs)
{
	int cpu = smp_processor_id();

	moved[container_of(kp, struct counted, kp) - places] += cpu != cpu_before;
	cpu_before = cpu;
	expected[cpu] += counts(kp->opcode >> 8, (const u8 *)kp->addr);
	WRITE_ONCE(may_move, true);
	wake_up_process(mover);
	return clauses_before(kp, regs);
}

/* Moves a task to another CPU whenever it is told to. */
static int moves(void *task)
{
	while (!kthread_should_stop()) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (!READ_ONCE(may_move) && !kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
		if (xchg(&may_move, false)) {
			int other = cpumask_any_but(cpu_online_mask, task_cpu(task));

			set_cpus_allowed_ptr(task, cpumask_of(other));
		}
	}
	return 0;
}

static int register_all(bool post)
{
	const u8 *at = (const u8 *)count_here;
	struct kprobe *batch[MOST_PLACES];

	/* Up to the return, which is BR. */
	for (count = 0; count < MOST_PLACES; at += insn_length(*at)) {
		places[count] = COUNTED_IN(at, .pre_handler = is_moved);
		batch[count] = &places[count].kp;
		if (post && counts(*at, at))
			places[count].kp.post_handler = clauses_after;
		count++;
		if (at[0] == 0x07 && at[1] == 0xfe)
			break;
	}
	return register_kprobes(batch, count);
}

#define CALLS	200

/* A step stays on its CPU, so with a post handler it is known which has counted. */
static void count_and_move(struct kunit *test, bool post)
{
	long sum = 0, added;
	int n, cpu, calls, within = 0;

	for_each_possible_cpu(cpu) {
		per_cpu(counter, cpu) = 0;
		expected[cpu] = 0;
	}
	memset(moved, 0, sizeof(moved));
	KUNIT_ASSERT_EQ(test, register_all(post), 0);
	for (calls = 0; calls < CALLS; calls++)
		count_here();
	for (n = 0; n < count; n++)
		unregister_kprobe(&places[n].kp);
	for_each_possible_cpu(cpu) {
		added = per_cpu(counter, cpu);
		sum += added;
		if (post)
			KUNIT_EXPECT_EQ(test, added, expected[cpu]);
	}
	KUNIT_EXPECT_EQ(test, sum, CALLS);
	for (n = 0; n < count; n++) {
		KUNIT_EXPECT_EQ(test, places[n].before, CALLS);
		KUNIT_EXPECT_EQ(test, places[n].kp.nmissed, 0);
		within += moved[n] > 0;
	}
	/* Before each of them but where the step ends the section's work. */
	KUNIT_EXPECT_GE(test, within, count - 1);
}

static void H5_per_cpu_section_of_a_task_that_moves(struct kunit *test)
{
	if (num_online_cpus() < 2)
		kunit_skip(test, "no other CPU to move to");
	mover = kthread_run(moves, current, "kprobes_mover");
	KUNIT_ASSERT_FALSE(test, IS_ERR(mover));
	sched_set_fifo(mover);
	count_and_move(test, false);
	count_and_move(test, true);
	kthread_stop(mover);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

static struct kunit_case percpu_cases[] = {
	KUNIT_CASE(H5_per_cpu_section_of_a_task_that_moves),
	{}
};

CLAUSES_SUITE(clauses_percpu, percpu_cases);
