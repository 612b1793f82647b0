// SPDX-License-Identifier: GPL-2.0
/*
 * Jumps that come and go while others hit them, register probes, or are put
 * aside in a detour.
 */
#include <linux/debug_locks.h>
#include <linux/jump_label.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/sizes.h>
#include "jumps.h"

DECLARE_STATIC_KEY_FALSE(optimize_key);

/* Calls a function until it is told to stop; how often, and rightly. */
struct caller {
	const u8 *function;
	int calls;
	int wrong;
};

static int keep_calling(void *data)
{
	struct caller *caller = data;

	while (!kthread_should_stop()) {
		caller->wrong += call(caller->function, caller->calls) !=
				 caller->calls + 5;
		WRITE_ONCE(caller->calls, caller->calls + 1);
		/* Else it would be waited for, as if it were in the way. */
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}

/* What a jump goes for, and comes back after; see hidden() why not here. */
static struct counted *other;

static void other_comes(struct kunit *test, bool comes)
{
	if (!comes) {
		unregister_kprobe(&other->kp);
		return;
	}
	other->kp.flags = 0;
	KUNIT_EXPECT_EQ(test, register_kprobe(&other->kp), 0);
}

static void switch_turns(struct kunit *test, bool off)
{
	KUNIT_EXPECT_EQ(test, say(off ? "0\n" : "1\n"), 0);
}

static void no_hit_is_lost(struct kunit *test,
			   void (*change)(struct kunit *test, bool on))
{
	struct caller caller = { .function = optimize_plain };
	struct task_struct *thread;
	int round;

	PROBE_IN(probe, PLAIN);
	thread = kthread_run(keep_calling, &caller, "caller");
	if (IS_ERR(thread)) {
		take_out(&probe);
		KUNIT_FAIL_AND_ABORT(test, "no thread");
	}
	for (round = 0; round < 4; round++) {
		if (!becomes_a_jump(PLAIN)) {
			KUNIT_FAIL(test, "no jump in round %d", round);
			break;
		}
		change(test, true);
		KUNIT_EXPECT_TRUE(test, IS_BREAKPOINT(PLAIN));
		msleep(20);
		change(test, false);
	}
	kthread_stop(thread);
	KUNIT_EXPECT_GT(test, caller.calls, 0);
	KUNIT_EXPECT_EQ(test, caller.wrong, 0);
	KUNIT_EXPECT_EQ(test, caller.calls, probe.before);
	KUNIT_EXPECT_EQ(test, probe.kp.nmissed, 0);
}

static void O3_no_hit_is_lost_as_handlers_come(struct kunit *test)
{
	struct counted same = COUNTED_IN(PLAIN, AFTER);

	other = &same;
	no_hit_is_lost(test, other_comes);
	KUNIT_EXPECT_GT(test, same.after, 0);
}

static void O3_no_hit_is_lost_as_places_come(struct kunit *test)
{
	struct counted inside = COUNTED_IN(PLAIN + INSIDE, AFTER);

	other = &inside;
	no_hit_is_lost(test, other_comes);
	KUNIT_EXPECT_GT(test, inside.after, 0);
}

static void O7_no_hit_is_lost_as_text_changes(struct kunit *test)
{
	no_hit_is_lost(test, switch_turns);
}

struct client {
	struct task_struct *thread;
	const u8 *function;
	int rounds;
	int wrong;
};

static int come_and_go(void *data)
{
	struct client *client = data;

	while (!kthread_should_stop()) {
		struct counted probe = COUNTED_IN(place_in(client->function));

		client->wrong += register_kprobe(&probe.kp) != 0;
		client->wrong += call(client->function, 1) != 6;
		client->wrong += probe.before != 1;
		msleep(client->rounds % 4 * 50);
		client->wrong += call(client->function, 1) != 6;
		client->wrong += probe.before != 2;
		unregister_kprobe(&probe.kp);
		client->rounds++;
	}
	return 0;
}

/* Locks are taken in one order; lockdep tells if not, and stops. */
static void O8_switch_against_registrations(struct kunit *test)
{
	struct client clients[] = {
		{ .function = optimize_plain },
		{ .function = optimize_second },
		{ .function = optimize_third },
	};
	const bool lockdep = IS_ENABLED(CONFIG_PROVE_LOCKING) && debug_locks;
	int n, turn;

	for (n = 0; n < ARRAY_SIZE(clients); n++)
		clients[n].thread = kthread_run(come_and_go, &clients[n],
						"client");
	for (turn = 0; turn < 8; turn++) {
		KUNIT_EXPECT_EQ(test, say(turn % 2 ? "1\n" : "0\n"), 0);
		msleep(100);
		/* Who changes text besides probes. */
		static_branch_enable(&optimize_key);
		static_branch_disable(&optimize_key);
	}
	for (n = 0; n < ARRAY_SIZE(clients); n++) {
		KUNIT_EXPECT_FALSE(test, IS_ERR(clients[n].thread));
		if (!IS_ERR(clients[n].thread))
			kthread_stop(clients[n].thread);
		KUNIT_EXPECT_GT(test, clients[n].rounds, 0);
		KUNIT_EXPECT_EQ(test, clients[n].wrong, 0);
	}
	KUNIT_EXPECT_EQ(test, begin(test), 0);
	KUNIT_EXPECT_TRUE(test, optimizer_was_here(test));
	if (lockdep)
		KUNIT_EXPECT_TRUE_MSG(test, debug_locks,
				      "see what lockdep has reported above");
}

/* So many bytes take longer than all else that is done with them. */
#define MUCH		SZ_1M

struct filler {
	u8 *buffer;
	int calls;
	int wrong;
};

static int keep_filling(void *data)
{
	struct filler *filler = data;

	while (!kthread_should_stop()) {
		filler->wrong += clauses_invoke((long)filler->buffer, MUCH,
						optimize_memory) != MUCH + 5;
		WRITE_ONCE(filler->calls, filler->calls + 1);
	}
	return 0;
}

static bool hold, held;

/* Keeps the CPU from all others while it is to be held. */
static int keep_the_cpu(void *unused)
{
	while (!kthread_should_stop()) {
		unsigned long end = jiffies + 30 * HZ;

		while (READ_ONCE(hold) && time_before(jiffies, end)) {
			WRITE_ONCE(held, true);
			cpu_relax();
		}
		WRITE_ONCE(held, false);
		msleep(20);
	}
	return 0;
}

static bool is_held(bool it)
{
	WRITE_ONCE(hold, it);
	return COMES_TRUE(READ_ONCE(held) == it);
}

/* Where the jump at an address leads. */
static const u8 *jump_target(const u8 *at)
{
	return at + JMP32_INSN_SIZE + *(const s32 *)(at + 1);
}

/* No detour is longer. */
#define DETOUR		64

/* Was a task that does not run interrupted in the detour that starts there? */
static bool __no_sanitize_address was_in(struct task_struct *task,
					 unsigned long detour)
{
	const unsigned long *word = (void *)task->thread.sp;
	const unsigned long *end = task_stack_page(task) + THREAD_SIZE;

	/* What an interrupt has put on the stack. */
	for (; word + 1 < end; word++)
		if (word[0] - detour < DETOUR && word[1] == __KERNEL_CS)
			return true;
	return false;
}

static struct task_struct *on_cpu_1(int (*what)(void *data), void *data)
{
	struct task_struct *thread = kthread_create(what, data, "on_cpu_1");

	if (!IS_ERR(thread)) {
		kthread_bind(thread, 1);
		get_task_struct(thread);
	}
	return thread;
}

#define DETOURS		128

/*
 * A task is put aside in a detour's copy of a long instruction. Meanwhile the
 * probe goes, and others come, whose detours would be in its place. Then the
 * task goes on.
 *
 * Both tasks are for real time: the scheduler lets others have a part of a
 * second that one of these has kept from them.
 */
static void O9_detours_outlive_who_is_in_them(struct kunit *test)
{
	struct counted inside = COUNTED_IN(PLACE(memory) + 7, AFTER);
	struct many *others = clauses_many(test);
	struct filler filler = { .buffer = kunit_kmalloc(test, MUCH, GFP_KERNEL) };
	struct task_struct *in_it, *before_it;
	unsigned long detour;
	bool was_in_it = false;
	int n, calls;

	if (IS_ENABLED(CONFIG_KPROBES_C))
		kunit_skip(test, "defect O9: C's would run what is there then");
	if (!cpu_online(1))
		kunit_skip(test, "there is no other CPU");
	KUNIT_ASSERT_NOT_NULL(test, filler.buffer);
	KUNIT_ASSERT_EQ(test, 0, set_cpus_allowed_ptr(current, cpumask_of(0)));
	in_it = on_cpu_1(keep_filling, &filler);
	before_it = on_cpu_1(keep_the_cpu, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(in_it) || IS_ERR(before_it));
	sched_set_fifo_low(in_it);
	sched_set_fifo(before_it);

	PROBE_IN(probe, PLACE(memory) + 5);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLACE(memory) + 5));
	detour = (unsigned long)jump_target(PLACE(memory) + 5);
	wake_up_process(in_it);
	KUNIT_EXPECT_TRUE(test, COMES_TRUE(READ_ONCE(filler.calls) > 2));
	wake_up_process(before_it);
	for (n = 0; n < 20 && !was_in_it; n++) {
		KUNIT_EXPECT_TRUE(test, is_held(false));
		KUNIT_EXPECT_TRUE(test, is_held(true));
		was_in_it = was_in(in_it, detour);
	}
	KUNIT_EXPECT_TRUE_MSG(test, was_in_it,
			      "the task was never put aside in the detour");
	calls = READ_ONCE(filler.calls);
	/* The jump goes at once. */
	KUNIT_EXPECT_EQ(test, register_kprobe(&inside.kp), 0);
	unregister_kprobe(&inside.kp);
	take_out(&probe);
	KUNIT_EXPECT_EQ(test, register_kprobes(others->batch, DETOURS), 0);
	KUNIT_EXPECT_EQ(test, READ_ONCE(filler.calls), calls);
	KUNIT_EXPECT_TRUE_MSG(test, was_in(in_it, detour),
			      "the task has left the detour too early");
	KUNIT_EXPECT_TRUE(test, is_held(false));
	KUNIT_EXPECT_TRUE(test, COMES_TRUE(READ_ONCE(filler.calls) >
					   calls + 2));
	kthread_stop_put(before_it);
	kthread_stop_put(in_it);
	unregister_kprobes(others->batch, DETOURS);
	KUNIT_EXPECT_EQ(test, filler.wrong, 0);
}

static struct kunit_case optimize_tasks_cases[] = {
	KUNIT_CASE(O3_no_hit_is_lost_as_handlers_come),
	KUNIT_CASE(O3_no_hit_is_lost_as_places_come),
	KUNIT_CASE(O7_no_hit_is_lost_as_text_changes),
	KUNIT_CASE(O8_switch_against_registrations),
	KUNIT_CASE_SLOW(O9_detours_outlive_who_is_in_them),
	{}
};

CLAUSES_SUITE(clauses_optimize_tasks, optimize_tasks_cases, WITH_SWITCH);
