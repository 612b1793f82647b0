// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that return probes watch: what handlers are told, in which order, and
 * what becomes of calls that there is no room for.
 */
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/ptrace.h>
#include "returns.h"

static void K3_before_and_after(struct kunit *test)
{
	WATCH(probe, INNER);
	KUNIT_EXPECT_EQ(test, call_inner(), 1);
	EXPECT_TOLD(test, &probe, 1, 1);
	KUNIT_EXPECT_LT(test, probe.turn_entered, probe.turn_returned);
	KUNIT_EXPECT_EQ(test, probe.value, 1);
	KUNIT_EXPECT_PTR_EQ(test, probe.task, current);
	KUNIT_EXPECT_FALSE(test, has_calls(current));
}

static long look_at_entered(void *data)
{
	const struct watched *probe = data;

	return 10 * atomic_read(&probe->entered) +
	       atomic_read(&probe->returned);
}

static void K3_the_function_is_in_between(struct kunit *test)
{
	WATCH(probe, INNER);
	KUNIT_EXPECT_EQ(test, kprobes_returns_inner(look_at_entered, &probe), 11);
}

/* It sees where the function returns to, still. */
static void K3_entry_handler_comes_before_the_hook(struct kunit *test)
{
	WATCH(probe, INNER);
	KUNIT_EXPECT_EQ(test, kprobes_returns_inner(returns_nothing, NULL), 1);
	KUNIT_EXPECT_TRUE(test, returns_is_in(probe.on_stack, __func__));
	KUNIT_EXPECT_EQ(test, probe.on_stack, probe.ip + POINTER_BIT);
}

/* The innermost ones find nothing. */
static void K3_what_finds_no_room_is_missed(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, returns_grow(false), 0);
	WATCH(probe, DEEP, .maxactive = 3);
	KUNIT_EXPECT_EQ(test, kprobes_returns_deep(8), 8);
	EXPECT_TOLD(test, &probe, 3, 3);
	KUNIT_EXPECT_EQ(test, probe.rp.nmissed, 5);
	KUNIT_EXPECT_EQ(test, probe.value, 8);
	KUNIT_EXPECT_EQ(test, kprobes_returns_deep(3), 3);
	EXPECT_TOLD(test, &probe, 6, 6);
	KUNIT_EXPECT_EQ(test, probe.rp.nmissed, 5);
}

static void K3_room_is_used_again(struct kunit *test)
{
	int n;

	KUNIT_ASSERT_EQ(test, returns_grow(false), 0);
	WATCH(probe, INNER, .maxactive = 1);
	for (n = 0; n < 100; n++)
		call_inner();
	EXPECT_TOLD(test, &probe, 100, 100);
	KUNIT_EXPECT_EQ(test, probe.rp.nmissed, 0);
}

static bool refuse;

static int refuses(struct kretprobe_instance *call, struct pt_regs *regs)
{
	watched_entered(call, regs);
	return READ_ONCE(refuse);
}

/* There is room for one call, and who does not want it gives it back. */
static void K3_entry_handler_may_refuse(struct kunit *test)
{
	int n;

	KUNIT_ASSERT_EQ(test, returns_grow(false), 0);
	WATCH(probe, INNER, .maxactive = 1, .entry_handler = refuses);
	WRITE_ONCE(refuse, true);
	for (n = 0; n < 5; n++)
		KUNIT_EXPECT_EQ(test, call_inner(), 1);
	EXPECT_TOLD(test, &probe, 5, 0);
	WRITE_ONCE(refuse, false);
	KUNIT_EXPECT_EQ(test, call_inner(), 1);
	EXPECT_TOLD(test, &probe, 6, 1);
	KUNIT_EXPECT_EQ(test, probe.rp.nmissed, 0);
}

/* Of three probes the one in the middle does not want the call. */
static void K3_one_of_several_may_refuse(struct kunit *test)
{
	struct watched first = WATCHED(INNER), last = WATCHED(INNER);
	struct watched middle = WATCHED(INNER, .entry_handler = refuses);
	struct kretprobe *batch[] = { &first.rp, &middle.rp, &last.rp };

	WRITE_ONCE(refuse, true);
	KUNIT_ASSERT_EQ(test, register_kretprobes(batch, 3), 0);
	KUNIT_EXPECT_EQ(test, call_inner(), 1);
	unregister_kretprobes(batch, 3);
	EXPECT_TOLD(test, &first, 1, 1);
	EXPECT_TOLD(test, &middle, 1, 0);
	EXPECT_TOLD(test, &last, 1, 1);
}

static long seen_before;

static int note_data(struct kretprobe_instance *call, struct pt_regs *regs)
{
	seen_before = *(long *)call->data;
	*(long *)call->data += 7;
	return watched_entered(call, regs);
}

static int compare_data(struct kretprobe_instance *call, struct pt_regs *regs)
{
	if (*(long *)call->data != seen_before + 7)
		atomic_inc(&watched_by(call)->wrong);
	return watched_returned(call, regs);
}

/* It begins as zeros, and then has what was left there. */
static void K3_data_is_left_alone(struct kunit *test)
{
	int n;

	WATCH(probe, INNER, .maxactive = 1, .data_size = sizeof(long),
	      .entry_handler = note_data, .handler = compare_data);
	for (n = 0; n < 3; n++) {
		call_inner();
		KUNIT_EXPECT_EQ(test, seen_before, 7 * n);
	}
	EXPECT_TOLD(test, &probe, 3, 3);
}

static long give_back(void *data)
{
	return (long)data;
}

static int change_data(struct kretprobe_instance *call, struct pt_regs *regs)
{
	*returns_argument(regs, 1) = 41;
	return watched_entered(call, regs);
}

static void K3_entry_handler_changes_registers(struct kunit *test)
{
	WATCH(probe, INNER, .entry_handler = change_data);
	KUNIT_EXPECT_EQ(test, kprobes_returns_inner(give_back, NULL), 42);
	EXPECT_TOLD(test, &probe, 1, 1);
}

struct three {
	struct watched all[3];
	struct kretprobe *batch[3];
};

static noinline void call_with_three(struct kunit *test, struct three *three)
{
	int n;

	for (n = 0; n < 3; n++) {
		three->all[n] = WATCHED(INNER);
		three->batch[n] = &three->all[n].rp;
	}
	KUNIT_ASSERT_EQ(test, register_kretprobes(three->batch, 3), 0);
	KUNIT_EXPECT_EQ(test, call_inner(), 1);
	unregister_kretprobes(three->batch, 3);
}

/*
 * Probes are hit from the newest one on. Who is hit last has the latest call,
 * and is told of its end first.
 */
static void K4_latest_call_is_told_first(struct kunit *test)
{
	struct three three;
	int n;

	call_with_three(test, &three);
	for (n = 0; n < 3; n++)
		EXPECT_TOLD(test, &three.all[n], 1, 1);
	KUNIT_EXPECT_LT(test, three.all[2].turn_entered, three.all[1].turn_entered);
	KUNIT_EXPECT_LT(test, three.all[1].turn_entered, three.all[0].turn_entered);
	KUNIT_EXPECT_LT(test, three.all[0].turn_returned, three.all[1].turn_returned);
	KUNIT_EXPECT_LT(test, three.all[1].turn_returned, three.all[2].turn_returned);
}

/* Of several, only one has found it on the stack. */
static void K4_registers_are_where_it_returns_to(struct kunit *test)
{
	struct three three;
	int n;

	call_with_three(test, &three);
	for (n = 0; n < 3; n++) {
		KUNIT_EXPECT_TRUE(test, returns_is_in(three.all[n].ip,
						      "call_with_three"));
		KUNIT_EXPECT_EQ(test, three.all[n].ip + POINTER_BIT,
				three.all[2].on_stack);
		KUNIT_EXPECT_EQ(test, three.all[n].value, 1);
	}
}

static void K4_each_is_told_where_it_returns_to(struct kunit *test)
{
	struct three three;
	int n;

	call_with_three(test, &three);
	for (n = 0; n < 3; n++)
		KUNIT_EXPECT_EQ(test, three.all[n].to, three.all[2].on_stack);
}

/* As bpf_get_func_ret() and others ask. */
static void K4_one_is_told_where_it_returns_to(struct kunit *test)
{
	WATCH(probe, INNER);
	KUNIT_EXPECT_EQ(test, call_inner(), 1);
	KUNIT_EXPECT_EQ(test, probe.to, probe.on_stack);
	KUNIT_EXPECT_TRUE(test, returns_is_in(probe.to, __func__));
}

static struct kretprobe *whose[2];

static int note_whose(struct kretprobe_instance *call, struct pt_regs *regs)
{
	whose[0] = get_kretprobe(call);
	return watched_entered(call, regs);
}

static int note_whose_after(struct kretprobe_instance *call,
			    struct pt_regs *regs)
{
	whose[1] = get_kretprobe(call);
	return watched_returned(call, regs);
}

static void K4_handlers_are_told_whose_they_are(struct kunit *test)
{
	WATCH(probe, INNER, .entry_handler = note_whose, .handler = note_whose_after);
	WATCH(other, INNER);
	call_inner();
	KUNIT_EXPECT_PTR_EQ(test, whose[0], &probe.rp);
	KUNIT_EXPECT_PTR_EQ(test, whose[1], &probe.rp);
	EXPECT_TOLD(test, &probe, 1, 1);
	EXPECT_TOLD(test, &other, 1, 1);
}

static int wants_another_path(struct kretprobe_instance *call,
			      struct pt_regs *regs)
{
	watched_returned(call, regs);
	return 1;
}

static void K4_what_a_handler_returns_is_ignored(struct kunit *test)
{
	/* It is told first. */
	WATCH(probe, INNER, .handler = wants_another_path);
	WATCH(other, INNER);
	KUNIT_EXPECT_EQ(test, call_inner(), 1);
	EXPECT_TOLD(test, &probe, 1, 1);
	EXPECT_TOLD(test, &other, 1, 1);
}

static int change_value(struct kretprobe_instance *call, struct pt_regs *regs)
{
	watched_returned(call, regs);
	regs_set_return_value(regs, 99);
	return 0;
}

static void K4_a_handler_changes_what_is_returned(struct kunit *test)
{
	WATCH(probe, INNER, .handler = change_value);
	KUNIT_EXPECT_EQ(test, call_inner(), 99);
	KUNIT_EXPECT_EQ(test, kprobes_returns_outer(returns_nothing, NULL), 100);
	unwatch(&probe);
	KUNIT_EXPECT_EQ(test, call_inner(), 1);
}

static bool had_calls;

static int look_at_calls(struct kretprobe_instance *call, struct pt_regs *regs)
{
	had_calls = has_calls(current);
	return watched_returned(call, regs);
}

/* Who unwinds in a handler needs them. */
static void K4_call_is_in_the_list_until_all_are_told(struct kunit *test)
{
	WATCH(first, INNER);
	WATCH(last, INNER, .handler = look_at_calls);
	had_calls = false;
	call_inner();
	EXPECT_TOLD(test, &last, 1, 1);
	KUNIT_EXPECT_TRUE(test, had_calls);
	KUNIT_EXPECT_FALSE(test, has_calls(current));
}

static struct kprobe * __percpu *running_kprobe;
static struct kprobe *ran[2];

static int note_running(struct kretprobe_instance *call, struct pt_regs *regs)
{
	ran[0] = this_cpu_read(*running_kprobe);
	return watched_entered(call, regs);
}

static int note_running_after(struct kretprobe_instance *call,
			      struct pt_regs *regs)
{
	ran[1] = this_cpu_read(*running_kprobe);
	return watched_returned(call, regs);
}

/* kprobe_running(), which no module can call. */
static void K4_running_probe_is_that_of_the_entry(struct kunit *test)
{
	/* Of the CPU's address space, which GCC knows of: by its number only. */
	running_kprobe = (void __percpu *)(unsigned long)
			 clauses_symbol("current_kprobe");
	if (!running_kprobe)
		kunit_skip(test, "calls through pointers are checked");
	WATCH(probe, INNER, .entry_handler = note_running,
	      .handler = note_running_after);
	call_inner();
	EXPECT_TOLD(test, &probe, 1, 1);
	KUNIT_EXPECT_PTR_EQ(test, ran[0], &probe.rp.kp);
	KUNIT_EXPECT_PTR_EQ(test, ran[1], &probe.rp.kp);
	KUNIT_EXPECT_NULL(test, this_cpu_read(*running_kprobe));
}

static int call_other(struct kretprobe_instance *call, struct pt_regs *regs)
{
	clauses_call_other(1);
	return watched_returned(call, regs);
}

/* Plain probes, and the entries of return probes. */
static void K4_hits_in_handlers_are_missed(struct kunit *test)
{
	PROBE_AT(plain, OTHER);
	WATCH(within, OTHER);
	WATCH(probe, INNER, .handler = call_other);
	KUNIT_EXPECT_EQ(test, call_inner(), 1);
	KUNIT_EXPECT_EQ(test, call_inner(), 1);
	EXPECT_TOLD(test, &probe, 2, 2);
	EXPECT_TOLD(test, &within, 0, 0);
	KUNIT_EXPECT_EQ(test, plain.before, 0);
	KUNIT_EXPECT_EQ(test, plain.kp.nmissed, 2);
	KUNIT_EXPECT_EQ(test, within.rp.kp.nmissed, 2);
	/* It was not for want of room. */
	KUNIT_EXPECT_EQ(test, within.rp.nmissed, 0);
	clauses_call_other(1);
	EXPECT_TOLD(test, &within, 1, 1);
	KUNIT_EXPECT_EQ(test, plain.before, 1);
}

static int note_depth(struct kretprobe_instance *call, struct pt_regs *regs)
{
	*(unsigned long *)call->data = *returns_argument(regs, 0);
	return watched_entered(call, regs);
}

static int compare_depth(struct kretprobe_instance *call, struct pt_regs *regs)
{
	if (*(unsigned long *)call->data != regs_return_value(regs))
		atomic_inc(&watched_by(call)->wrong);
	return watched_returned(call, regs);
}

static void K4_each_call_has_its_own_data(struct kunit *test)
{
	/* No multiple of anything. */
	WATCH(probe, DEEP, .maxactive = 8, .data_size = sizeof(long) + 3,
	      .entry_handler = note_depth, .handler = compare_depth);
	KUNIT_EXPECT_EQ(test, kprobes_returns_deep(8), 8);
	EXPECT_TOLD(test, &probe, 8, 8);
}

static void K4_calls_within_calls(struct kunit *test)
{
	struct watched outer[2] = { WATCHED(OUTER), WATCHED(OUTER) };
	struct watched inner[2] = { WATCHED(INNER), WATCHED(INNER) };
	struct kretprobe *batch[] = { &outer[0].rp, &inner[0].rp, &outer[1].rp, &inner[1].rp };
	int n;

	KUNIT_ASSERT_EQ(test, register_kretprobes(batch, 4), 0);
	KUNIT_EXPECT_EQ(test, kprobes_returns_outer(returns_nothing, NULL), 2);
	unregister_kretprobes(batch, 4);
	for (n = 0; n < 2; n++) {
		EXPECT_TOLD(test, &outer[n], 1, 1);
		EXPECT_TOLD(test, &inner[n], 1, 1);
		KUNIT_EXPECT_EQ(test, outer[n].value, 2);
		KUNIT_EXPECT_EQ(test, inner[n].value, 1);
		KUNIT_EXPECT_TRUE(test, returns_is_in(outer[n].ip, __func__));
		KUNIT_EXPECT_TRUE(test, returns_is_in(inner[n].ip, OUTER));
		KUNIT_EXPECT_LT(test, inner[n].turn_returned,
				outer[0].turn_returned);
	}
}

static void interrupted(struct irq_work *work)
{
	call_inner();
}

static long be_interrupted(void *unused)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(interrupted);

	irq_work_queue(&work);
	irq_work_sync(&work);
	return 4;
}

/* The interrupt's call is one of the task's, for as long. */
static void K4_calls_of_interrupts(struct kunit *test)
{
	WATCH(probe, INNER);
	KUNIT_EXPECT_EQ(test, kprobes_returns_inner(be_interrupted, NULL), 5);
	EXPECT_TOLD(test, &probe, 2, 2);
	KUNIT_EXPECT_EQ(test, probe.value, 5);
	KUNIT_EXPECT_FALSE(test, has_calls(current));
}

static void K4_interrupts_stay_off(struct kunit *test)
{
	bool were_off;
	long result;

	WATCH(probe, INNER);
	local_irq_disable();
	result = call_inner();
	were_off = irqs_disabled();
	local_irq_enable();
	KUNIT_EXPECT_EQ(test, result, 1);
	KUNIT_EXPECT_TRUE(test, were_off);
	call_inner();
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	EXPECT_TOLD(test, &probe, 2, 2);
}

static long shift_frame(void *data)
{
	struct watched *probe = data;

	if (probe->call)
		probe->call->FRAME++;
	return 0;
}

/* Where a warning is no trap, the one that WARN_ON_ONCE() gives is the only one. */
#ifdef __WARN_FLAGS
#define WARNINGS_OF_TWO	2
#else
#define WARNINGS_OF_TWO	1
#endif

/*
 * Two watch one call. What is known of its frame is made wrong for one of
 * them: those from there on are not told, but the task goes on where it should.
 */
static void K5_foreign_frame(struct kunit *test)
{
	int warned[2] = {};
	long results[2] = {};

	WATCH(latest, INNER, .maxactive = 1);
	WATCH(oldest, INNER, .maxactive = 1);
	kunit_warning_suppress(test) {
		results[0] = kprobes_returns_inner(shift_frame, &oldest);
		warned[0] = KUNIT_SUPPRESSED_WARNING_COUNT();
		EXPECT_TOLD(test, &latest, 1, 1);
		EXPECT_TOLD(test, &oldest, 1, 0);
		results[1] = kprobes_returns_inner(shift_frame, &latest);
		warned[1] = KUNIT_SUPPRESSED_WARNING_COUNT();
	}
	EXPECT_TOLD(test, &latest, 2, 1);
	EXPECT_TOLD(test, &oldest, 2, 0);
	KUNIT_EXPECT_EQ(test, results[0], 1);
	KUNIT_EXPECT_EQ(test, results[1], 1);
	KUNIT_EXPECT_EQ(test, warned[0], 1);
	KUNIT_EXPECT_EQ(test, warned[1], WARNINGS_OF_TWO);
	KUNIT_EXPECT_FALSE(test, has_calls(current));
	call_inner();
	EXPECT_TOLD(test, &latest, 3, 2);
	EXPECT_TOLD(test, &oldest, 3, 1);
}

static struct kunit_case returns_calls_cases[] = {
	KUNIT_CASE(K3_before_and_after),
	KUNIT_CASE(K3_the_function_is_in_between),
	KUNIT_CASE(K3_entry_handler_comes_before_the_hook),
	KUNIT_CASE(K3_what_finds_no_room_is_missed),
	KUNIT_CASE(K3_room_is_used_again),
	KUNIT_CASE(K3_entry_handler_may_refuse),
	KUNIT_CASE(K3_one_of_several_may_refuse),
	KUNIT_CASE(K3_data_is_left_alone),
	KUNIT_CASE(K3_entry_handler_changes_registers),
	KUNIT_CASE(K4_latest_call_is_told_first),
	KUNIT_CASE(K4_registers_are_where_it_returns_to),
	KUNIT_CASE(K4_each_is_told_where_it_returns_to),
	KUNIT_CASE(K4_one_is_told_where_it_returns_to),
	KUNIT_CASE(K4_handlers_are_told_whose_they_are),
	KUNIT_CASE(K4_what_a_handler_returns_is_ignored),
	KUNIT_CASE(K4_a_handler_changes_what_is_returned),
	KUNIT_CASE(K4_call_is_in_the_list_until_all_are_told),
	KUNIT_CASE(K4_running_probe_is_that_of_the_entry),
	KUNIT_CASE(K4_hits_in_handlers_are_missed),
	KUNIT_CASE(K4_each_call_has_its_own_data),
	KUNIT_CASE(K4_calls_within_calls),
	KUNIT_CASE(K4_calls_of_interrupts),
	KUNIT_CASE(K4_interrupts_stay_off),
	KUNIT_CASE(K5_foreign_frame),
	{}
};

CLAUSES_SUITE(clauses_returns_calls, returns_calls_cases, WITH_STORES);
