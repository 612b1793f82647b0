// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks in the calls that return probes watch: probes go while they sleep
 * there, tasks die there, have children there, or never come back; and so many
 * are there that what is in store has to grow.
 */
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <linux/signal.h>
#include <linux/slab.h>
#include <linux/umh.h>
#include "returns.h"

/* Probes to register at once: at one place each, or where there is no such row at one. */
#ifdef CLAUSES_TARGET
#include "step.h"
#define ROW_PROBE(n)	COUNTED_IN(row_site(n))
#else
#define ROW		64
#define ROW_PROBE(n)	COUNTED_AT(TARGET)
#endif

#define MANY	1000
#define CROWD	300

/* The client may do with its probe what it likes. */
static void K6_unregistered_within_calls(struct kunit *test)
{
	const size_t stores = rust_kprobes_return_pools();
	struct watched *probe = kmalloc(sizeof(*probe), GFP_KERNEL);
	struct crowd crowd = {};

	KUNIT_ASSERT_NOT_NULL(test, probe);
	*probe = WATCHED(INNER, .maxactive = MANY);
	KUNIT_ASSERT_EQ(test, register_kretprobe(&probe->rp), 0);
	crowd_sleeps(test, &crowd, MANY);
	EXPECT_TOLD(test, probe, MANY, 0);
	unregister_kretprobe(&probe->rp);
	EXPECT_TOLD(test, probe, MANY, 0);
	memset(probe, 0x5a, sizeof(*probe));
	kfree(probe);
	/* What they are known by stays. */
	msleep(200);
	if (IS_ENABLED(CONFIG_RUST_KPROBES))
		KUNIT_EXPECT_EQ(test, rust_kprobes_return_pools(), stores + 1);
	KUNIT_EXPECT_EQ(test, crowd_wakes(&crowd), 0);
	EXPECT_STORES(test, stores);
}

/* Calls of its first life are not told to it in its second one. */
static void K6_registered_again_within_calls(struct kunit *test)
{
	struct watched probe = WATCHED(INNER);
	struct crowd crowd = {};

	KUNIT_ASSERT_EQ(test, register_kretprobe(&probe.rp), 0);
	crowd_sleeps(test, &crowd, 10);
	EXPECT_TOLD(test, &probe, 10, 0);
	unregister_kretprobe(&probe.rp);
	watched_anew(&probe);
	KUNIT_EXPECT_EQ(test, register_kretprobe(&probe.rp), 0);
	KUNIT_EXPECT_EQ(test, call_inner(), 1);
	KUNIT_EXPECT_EQ(test, crowd_wakes(&crowd), 0);
	EXPECT_TOLD(test, &probe, 1, 1);
	KUNIT_EXPECT_EQ(test, probe.value, 1);
	unregister_kretprobe(&probe.rp);
}

/* Either of two that watch the same calls; the other one is told all. */
static void K6_one_of_two_goes_within_calls(struct kunit *test)
{
	int goes;

	for (goes = 0; goes < 2; goes++) {
		struct watched probes[2] = { WATCHED(INNER), WATCHED(INNER) };
		struct watched *stays = &probes[!goes];
		struct crowd crowd = {};

		KUNIT_ASSERT_EQ(test, register_kretprobe(&probes[0].rp), 0);
		KUNIT_EXPECT_EQ(test, register_kretprobe(&probes[1].rp), 0);
		crowd_sleeps(test, &crowd, 10);
		unregister_kretprobe(&probes[goes].rp);
		KUNIT_EXPECT_EQ(test, crowd_wakes(&crowd), 0);
		EXPECT_TOLD(test, &probes[goes], 10, 0);
		EXPECT_TOLD(test, stays, 10, 10);
		KUNIT_EXPECT_TRUE(test, returns_is_in(stays->ip, SLEEPER));
		unregister_kretprobe(&stays->rp);
	}
}

struct caller {
	struct task_struct *task;
	int calls;
	int wrong;
};

static int keep_calling(void *data)
{
	struct caller *caller = data;

	while (!kthread_should_stop()) {
		caller->wrong += kprobes_returns_outer(returns_nothing,
						       NULL) != 2;
		caller->calls++;
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}

/* Whose probe is asked in each handler, see look_around() and watched_by(). */
static void K6_none_is_told_after_unregistering(struct kunit *test)
{
	struct watched inner = WATCHED(INNER), outer = WATCHED(OUTER);
	struct kretprobe *batch[] = { &inner.rp, &outer.rp };
	struct caller callers[3] = {};
	int n, round, told = 0, wrong = 0;

	for (n = 0; n < ARRAY_SIZE(callers); n++)
		callers[n].task = kthread_run(keep_calling, &callers[n], "caller");
	for (round = 0; round < 20; round++) {
		watched_anew(&inner);
		watched_anew(&outer);
		if (register_kretprobes(batch, 2)) {
			wrong++;
			break;
		}
		msleep(20);
		unregister_kretprobes(batch, 2);
		WRITE_ONCE(inner.gone, true);
		WRITE_ONCE(outer.gone, true);
		msleep(20);
		told += atomic_read(&inner.returned) +
			atomic_read(&outer.returned);
		wrong += atomic_read(&inner.wrong) + atomic_read(&outer.wrong);
	}
	for (n = 0; n < ARRAY_SIZE(callers); n++) {
		KUNIT_EXPECT_FALSE(test, IS_ERR(callers[n].task));
		if (IS_ERR(callers[n].task))
			continue;
		kthread_stop(callers[n].task);
		KUNIT_EXPECT_GT(test, callers[n].calls, 0);
		wrong += callers[n].wrong;
	}
	KUNIT_EXPECT_GT(test, told, 0);
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

struct row {
	struct counted probes[ROW];
	struct kprobe *batch[ROW];
};

/* Whoever registers anything has to wait for this, again and again. */
static int keep_registering(void *data)
{
	struct row *row = data;
	int n;

	while (!kthread_should_stop()) {
		for (n = 0; n < ROW; n++) {
			row->probes[n] = (struct counted)ROW_PROBE(n);
			row->batch[n] = &row->probes[n].kp;
		}
		if (!register_kprobes(row->batch, ROW))
			unregister_kprobes(row->batch, ROW);
	}
	return 0;
}

/*
 * As long as calls begin to be watched their ends are told: but for one that
 * the probe went in the middle of.
 */
static void K6_told_as_long_as_it_watches(struct kunit *test)
{
	struct row *row = kunit_kzalloc(test, sizeof(*row), GFP_KERNEL);
	struct task_struct *calls, *registers;
	struct watched probe = WATCHED(INNER);
	struct caller caller = {};
	int round, untold = 0;

	KUNIT_ASSERT_NOT_NULL(test, row);
	calls = kthread_run(keep_calling, &caller, "caller");
	registers = kthread_run(keep_registering, row, "registers");
	for (round = 0; round < 10; round++) {
		watched_anew(&probe);
		if (register_kretprobe(&probe.rp))
			break;
		msleep(20);
		unregister_kretprobe(&probe.rp);
		untold = max(untold, atomic_read(&probe.entered) -
				     atomic_read(&probe.returned));
	}
	KUNIT_EXPECT_EQ(test, round, 10);
	KUNIT_EXPECT_FALSE(test, IS_ERR(calls) || IS_ERR(registers));
	if (!IS_ERR(calls))
		kthread_stop(calls);
	if (!IS_ERR(registers))
		kthread_stop(registers);
	KUNIT_EXPECT_GT(test, caller.calls, 0);
	KUNIT_EXPECT_LE(test, untold, 1);
}

static long go_deeper(void *data)
{
	long *left = data;

	return --*left ? kprobes_returns_inner(go_deeper, left) : 0;
}

/* Is there room for so many calls, none of them taken? */
static bool all_is_there(struct watched *probe, int calls)
{
	long left = calls;

	probe->rp.nmissed = 0;
	kprobes_returns_inner(go_deeper, &left);
	return !probe->rp.nmissed;
}

static void some_die(struct kunit *test, struct watched *probe, int count,
		     bool unregister)
{
	struct crowd crowd = { .die = true };

	crowd_sleeps(test, &crowd, count);
	EXPECT_TOLD(test, probe, count, 0);
	if (unregister)
		unregister_kretprobe(&probe->rp);
	KUNIT_EXPECT_EQ(test, crowd_wakes(&crowd), 0);
	EXPECT_TOLD(test, probe, count, 0);
}

/* What they had taken comes back when nobody looks at them any more. */
static void K7_who_dies_gives_back(struct kunit *test)
{
	int round;

	KUNIT_ASSERT_EQ(test, returns_grow(false), 0);
	WATCH(probe, INNER, .maxactive = 10);
	for (round = 0; round < 3; round++) {
		atomic_set(&probe.entered, 0);
		atomic_set(&probe.returned, 0);
		some_die(test, &probe, 10, false);
		KUNIT_EXPECT_EQ(test, probe.rp.nmissed, 0);
		KUNIT_EXPECT_TRUE(test, COMES_TRUE(all_is_there(&probe, 10)));
	}
}

/* The last of them takes what was in store with it. */
static void K7_unregistered_before_they_die(struct kunit *test)
{
	struct watched probe = WATCHED(INNER);

	KUNIT_ASSERT_EQ(test, register_kretprobe(&probe.rp), 0);
	some_die(test, &probe, 10, true);
}

static void K7_unregistered_after_they_died(struct kunit *test)
{
	WATCH(probe, INNER);
	some_die(test, &probe, 10, false);
}

static int live_shortly(void *unused)
{
	return 0;
}

/* Each task that ends calls it, and none comes back. */
static void K7_function_that_never_returns(struct kunit *test)
{
	int n;

	WATCH(probe, "do_exit", .maxactive = 100);
	for (n = 0; n < 30; n++) {
		struct task_struct *task = kthread_create(live_shortly, NULL,
							  "shortly");

		KUNIT_ASSERT_FALSE(test, IS_ERR(task));
		get_task_struct(task);
		wake_up_process(task);
		kthread_stop_put(task);
	}
	KUNIT_EXPECT_GE(test, atomic_read(&probe.entered), 30);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe.returned), 0);
	KUNIT_EXPECT_EQ(test, probe.rp.nmissed, 0);
}

/* A program; its end, as waitpid() would say it. */
static int run(char *line)
{
	char *call[4] = { "/bin/sh", "-c", line, NULL };
	char *variables[2] = { "PATH=/bin:/sbin", NULL };

	return call_usermodehelper(call[0], call, variables, UMH_WAIT_PROC);
}

static atomic_t parents, children, heirs;

/* Called in the parent when its child is made, and before it runs. */
static int look_at_child(struct kprobe *kp, struct pt_regs *regs)
{
	const struct task_struct *child = (void *)*returns_argument(regs, 0);

	if (has_calls(current))
		atomic_inc(&parents);
	if (has_calls(child))
		atomic_inc(&heirs);
	atomic_inc(&children);
	return 0;
}

static char family[] =
	"for n in 1 2 3 4 5 6 7 8; do (exit $n); [ $? = $n ] || exit 99; done";

/* A child is not in the calls that its parent is in. */
static void K7_children(struct kunit *test)
{
	atomic_set(&parents, 0);
	atomic_set(&children, 0);
	atomic_set(&heirs, 0);
	PROBE_AT(child, "wake_up_new_task", .pre_handler = look_at_child);
	WATCH(probe, "kernel_clone");
	KUNIT_EXPECT_EQ(test, run(family), 0);
	/* Each parent goes on behind it. */
	KUNIT_EXPECT_TRUE(test, COMES_TRUE(atomic_read(&probe.entered) ==
					   atomic_read(&probe.returned)));
	KUNIT_EXPECT_GE(test, atomic_read(&probe.returned), 8);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe.wrong), 0);
	KUNIT_EXPECT_EQ(test, probe.rp.nmissed, 0);
	KUNIT_EXPECT_GE(test, atomic_read(&parents), 8);
	KUNIT_EXPECT_GE(test, atomic_read(&children), 8);
	KUNIT_EXPECT_EQ(test, atomic_read(&heirs), 0);
}

static struct task_struct *slept;

static int note_sleeper(struct kretprobe_instance *call, struct pt_regs *regs)
{
	WRITE_ONCE(slept, current);
	return watched_entered(call, regs);
}

static int kill_sleeper(void *data)
{
	struct watched *probe = data;
	bool sleeps = COMES_TRUE(atomic_read(&probe->entered));

	msleep(50);
	if (sleeps)
		send_sig(SIGKILL, READ_ONCE(slept), 1);
	return 0;
}

/* Who is killed while it sleeps comes back before it dies. */
static void K7_killed_in_a_call(struct kunit *test)
{
	struct task_struct *killer;
	int status;

	WATCH(probe, "hrtimer_nanosleep", .entry_handler = note_sleeper);
	killer = kthread_run(kill_sleeper, &probe, "killer");
	KUNIT_EXPECT_FALSE(test, IS_ERR(killer));
	status = run("exec sleep 30");
	KUNIT_EXPECT_EQ(test, status & 0x7f, SIGKILL);
	EXPECT_TOLD(test, &probe, 1, 1);
	KUNIT_EXPECT_EQ(test, (long)probe.value, -ERESTART_RESTARTBLOCK);
}

/* Tasks that are all in a call at once; how many of them are watched. */
static int wave(struct kunit *test, struct watched *probe, u32 pauses)
{
	struct crowd crowd = { .pauses = pauses };
	int entered;

	atomic_set(&probe->entered, 0);
	atomic_set(&probe->returned, 0);
	probe->rp.nmissed = 0;
	crowd_sleeps(test, &crowd, CROWD);
	entered = atomic_read(&probe->entered);
	KUNIT_EXPECT_EQ(test, crowd_wakes(&crowd), 0);
	/* Each was watched, or it was said that it was not. */
	KUNIT_EXPECT_EQ(test, entered + probe->rp.nmissed, CROWD);
	EXPECT_TOLD(test, probe, entered, entered);
	kunit_info(test, "%d tasks in one call each: %d watched, %d missed",
		   CROWD, entered, probe->rp.nmissed);
	return entered;
}

/* What they are is told; with either implementation it is most of them. */
static void K3_each_of_many_is_watched_or_missed(struct kunit *test)
{
	WATCH(probe, INNER, .maxactive = 10);
	KUNIT_EXPECT_GE(test, wave(test, &probe, 0), 10);
}

/*
 * Those of the first wave are missed for whom there was no room yet, whenever
 * it came; then there is room for as many.
 */
static void K3_second_wave_loses_none(struct kunit *test)
{
#ifdef CONFIG_RUST_KPROBES
	static const u32 pauses[] = { 0, 30 };
	const size_t stores = rust_kprobes_return_pools();
	const size_t calls = rust_kprobes_return_calls();
	int n, watched;
	bool grows;

	for (n = 0; n < ARRAY_SIZE(pauses); n++) {
		WATCH(probe, INNER, .maxactive = 10);
		watched = wave(test, &probe, pauses[n]);
		/* With pauses it may have been in time for all. */
		if (!pauses[n])
			KUNIT_EXPECT_LT(test, watched, CROWD);
		grows = COMES_TRUE(rust_kprobes_return_calls() >=
				   calls + CROWD);
		KUNIT_EXPECT_TRUE(test, grows);
		KUNIT_EXPECT_EQ(test, wave(test, &probe, 0), CROWD);
		KUNIT_EXPECT_EQ(test, probe.rp.nmissed, 0);
		/* It says what there was in the beginning. */
		KUNIT_EXPECT_EQ(test, probe.rp.maxactive, 10);
		unwatch(&probe);
		EXPECT_STORES(test, stores);
	}
#else
	kunit_skip(test, "what C has in store does not grow");
#endif
}

/* Who says how many there can be loses none. */
static void K3_reserved_room(struct kunit *test)
{
#ifdef CONFIG_RUST_KPROBES
	const size_t stores = rust_kprobes_return_pools();
	struct watched probe = WATCHED(INNER, .maxactive = 10);

	KUNIT_EXPECT_EQ(test, kretprobe_reserve(&probe.rp, 1), -EINVAL);
	KUNIT_ASSERT_EQ(test, register_kretprobe(&probe.rp), 0);
	KUNIT_EXPECT_EQ(test, kretprobe_reserve(&probe.rp, MAX_CALLS + 1), -ENOMEM);
	KUNIT_EXPECT_EQ(test, kretprobe_reserve(&probe.rp, CROWD), 0);
	KUNIT_EXPECT_EQ(test, wave(test, &probe, 0), CROWD);
	KUNIT_EXPECT_EQ(test, probe.rp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, probe.rp.maxactive, 10);
	unregister_kretprobe(&probe.rp);
	KUNIT_EXPECT_EQ(test, kretprobe_reserve(&probe.rp, 1), -EINVAL);
	EXPECT_STORES(test, stores);
#else
	kunit_skip(test, "C has no kretprobe_reserve()");
#endif
}

static struct kunit_case returns_tasks_cases[] = {
	KUNIT_CASE_SLOW(K6_unregistered_within_calls),
	KUNIT_CASE(K6_registered_again_within_calls),
	KUNIT_CASE(K6_one_of_two_goes_within_calls),
	KUNIT_CASE(K6_none_is_told_after_unregistering),
	KUNIT_CASE_SLOW(K6_told_as_long_as_it_watches),
	KUNIT_CASE(K7_who_dies_gives_back),
	KUNIT_CASE(K7_unregistered_before_they_die),
	KUNIT_CASE(K7_unregistered_after_they_died),
	KUNIT_CASE(K7_function_that_never_returns),
	KUNIT_CASE(K7_children),
	KUNIT_CASE(K7_killed_in_a_call),
	KUNIT_CASE_SLOW(K3_each_of_many_is_watched_or_missed),
	KUNIT_CASE_SLOW(K3_second_wave_loses_none),
	KUNIT_CASE_SLOW(K3_reserved_room),
	{}
};

CLAUSES_SUITE(clauses_returns_tasks, returns_tasks_cases, WITH_STORES);
