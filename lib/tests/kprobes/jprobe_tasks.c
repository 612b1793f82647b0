// SPDX-License-Identifier: GPL-2.0
/*
 * Jprobes while their handlers run: who waits for them, what others see of the
 * stack, and what their places are.
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/stacktrace.h>
#include "jprobe.h"

#define FRAMES	32

static unsigned long frames[FRAMES];
static unsigned int depth;

static long shows_stack(ARGUMENTS)
{
	depth = stack_trace_save(frames, FRAMES, 0);
	return 0;
}

static bool in_trace(const char *function)
{
	char name[KSYM_SYMBOL_LEN];
	unsigned int n;

	for (n = 0; n < depth; n++) {
		snprintf(name, sizeof(name), "%ps", (void *)frames[n]);
		if (!strncmp(name, function, strlen(function)))
			return true;
	}
	return false;
}

static int nothing(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

/* Where its return is hooked, too: the trampoline is where the caller was. */
static void J11_stack_trace_leads_to_the_caller(struct kunit *test)
{
	int hooked;

	FOR_EACH_KIND(of) {
		struct kretprobe rp = { .kp.symbol_name = of->symbol, .handler = nothing };

		JPROBE(jp, of->symbol, shows_stack);
		for (hooked = 0; hooked < 2; hooked++) {
			depth = 0;
			KUNIT_EXPECT_EQ(test, clauses_sum(of), CLAUSES_SUM);
			KUNIT_EXPECT_TRUE(test, in_trace("shows_stack"));
			KUNIT_EXPECT_TRUE(test, in_trace("clauses_sum"));
			KUNIT_EXPECT_TRUE(test, in_trace("J11_stack_trace"));
			KUNIT_EXPECT_TRUE(test, in_trace("kthread"));
			if (!hooked)
				KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
		}
		unregister_kretprobe(&rp);
	}
}

static DECLARE_COMPLETION(has_come);
static bool go, over;
static const struct kind *called;

static void stay_for_a_while(void)
{
	complete(&has_come);
	while (!READ_ONCE(go))
		cpu_relax();
	mdelay(50);
	WRITE_ONCE(over, true);
}

static long stays_for_a_while(ARGUMENTS)
{
	stay_for_a_while();
	return 0;
}

static long stays_of_old(ARGUMENTS)
{
	stay_for_a_while();
	jprobe_return();
	return 0;
}

static int calls_it(void *unused)
{
	bool right = clauses_sum(called) == CLAUSES_SUM;

	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return right;
}

static void unregister_meanwhile(struct kunit *test, const struct kind *kind,
				 void *handler, bool with_others)
{
	struct jprobe jp = JPROBE_AT(kind->symbol, handler);
	struct counted around = COUNTED_AT(kind->symbol, AFTER);
	struct task_struct *task;

	go = false;
	over = false;
	called = kind;
	reinit_completion(&has_come);
	KUNIT_ASSERT_EQ(test, register_jprobe(&jp), 0);
	if (with_others)
		KUNIT_ASSERT_EQ(test, register_kprobe(&around.kp), 0);
	task = kthread_create(calls_it, NULL, "kprobes_jprobe");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	/* Not where we are woken up, as it does not let us run. */
	kthread_bind(task, cpumask_any_but(cpu_online_mask, raw_smp_processor_id()));
	wake_up_process(task);
	wait_for_completion(&has_come);
	WRITE_ONCE(go, true);
	unregister_jprobe(&jp);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(over));
	if (with_others)
		unregister_kprobe(&around.kp);
	KUNIT_EXPECT_EQ(test, kthread_stop(task), 1);
	KUNIT_EXPECT_EQ(test, clauses_sum(kind), CLAUSES_SUM);
	EXPECT_HITS(around, with_others, with_others);
}

/* And what the handler was entered for goes on, though the breakpoint is no more. */
static void J12_unregistering_waits_for_the_handler(struct kunit *test)
{
	if (num_online_cpus() < 2)
		kunit_skip(test, "no other CPU for who unregisters");
	FOR_EACH_KIND(of) {
		unregister_meanwhile(test, of, stays_for_a_while, false);
		unregister_meanwhile(test, of, stays_of_old, false);
		unregister_meanwhile(test, of, stays_for_a_while, true);
	}
}

static struct task_struct *urgent;
static bool has_been_there;

static int comes_at_once(void *unused)
{
	while (!kthread_should_stop()) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
		WRITE_ONCE(has_been_there, true);
	}
	return 0;
}

static long wakes_up(ARGUMENTS)
{
	wake_up_process(urgent);
	return 0;
}

static long wakes_up_of_old(ARGUMENTS)
{
	wake_up_process(urgent);
	jprobe_return();
	return 0;
}

/* How often the task that the handler has woken up was there, of so many. */
static int comes_next(const struct kind *kind, int times)
{
	int count = 0, n, left;

	for (n = 0; n < times; n++) {
		WRITE_ONCE(has_been_there, false);
		clauses_sum(kind);
		/* Far less than from one tick to the next. */
		for (left = 100; left && !READ_ONCE(has_been_there); left--)
			cpu_relax();
		count += READ_ONCE(has_been_there);
		COMES_TRUE(READ_ONCE(has_been_there));
	}
	return count;
}

/* Preemption is off in the handler: what it delays is delayed no longer. */
static void J3_who_was_kept_waiting_comes_next(struct kunit *test)
{
	void *const handlers[] = { wakes_up, wakes_up_of_old };
	int n;

	if (!preempt_model_preemptible())
		kunit_skip(test, "nobody is preempted");
	migrate_disable();
	urgent = kthread_create(comes_at_once, NULL, "kprobes_urgent");
	if (IS_ERR(urgent)) {
		migrate_enable();
		KUNIT_FAIL(test, "no task");
		return;
	}
	kthread_bind(urgent, smp_processor_id());
	sched_set_fifo(urgent);
	wake_up_process(urgent);
	msleep(20);
	FOR_EACH_KIND(of) {
		for (n = 0; n < ARRAY_SIZE(handlers); n++) {
			struct jprobe jp = JPROBE_AT(of->symbol, handlers[n]);

			KUNIT_EXPECT_EQ(test, register_jprobe(&jp), 0);
			KUNIT_EXPECT_EQ(test, comes_next(of, 8), 8);
			unregister_jprobe(&jp);
		}
	}
	kthread_stop(urgent);
	migrate_enable();
}

static void J13_no_jump_takes_its_place(struct kunit *test)
{
#ifdef CONFIG_RUST_KPROBES_JUMPS
	struct jprobe jp = JPROBE_AT("clauses_jprobe_boosted", shows_stack);
	struct kprobe_no_jump why;

	KUNIT_ASSERT_EQ(test, register_jprobe(&jp), 0);
	KUNIT_EXPECT_EQ(test, kprobe_why_no_jump(&jp.kp, &why), 1);
	KUNIT_EXPECT_EQ(test, why.reason, KPROBE_NO_JUMP_JPROBE);
	unregister_jprobe(&jp);
	PROBE_AT(plain, "clauses_jprobe_boosted");
	msleep(200);
	jprobe_anew(&jp);
	KUNIT_ASSERT_EQ(test, register_jprobe(&jp), 0);
	depth = 0;
	KUNIT_EXPECT_EQ(test, clauses_sum(&clauses_kinds[0]), CLAUSES_SUM);
	KUNIT_EXPECT_NE(test, depth, 0);
	KUNIT_EXPECT_EQ(test, plain.before, 1);
	unregister_jprobe(&jp);
#else
	kunit_skip(test, "no CONFIG_RUST_KPROBES_JUMPS");
#endif
}

static struct kunit_case jprobe_tasks_cases[] = {
	KUNIT_CASE(J11_stack_trace_leads_to_the_caller),
	KUNIT_CASE_SLOW(J12_unregistering_waits_for_the_handler),
	KUNIT_CASE(J3_who_was_kept_waiting_comes_next),
	KUNIT_CASE(J13_no_jump_takes_its_place),
	{}
};

CLAUSES_SUITE(clauses_jprobe_tasks, jprobe_tasks_cases);
