// SPDX-License-Identifier: GPL-2.0
/*
 * Hits: what handlers see and what they may do, on any architecture.
 */
#include <linux/preempt.h>
#include "step.h"

static bool could_be_preempted;

static int look_around(struct kprobe *kp, struct pt_regs *regs)
{
	could_be_preempted |= IS_ENABLED(CONFIG_PREEMPT_COUNT) && !preempt_count();
	return clauses_before(kp, regs);
}

static void H1_handlers_are_not_preempted(struct kunit *test)
{
	could_be_preempted = false;
	PROBE_AT(probe, TARGET, .pre_handler = look_around);
	clauses_call(1);
	take_out(&probe);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
#ifdef CLAUSES_TARGET
	PROBE_IN(inside, clauses_move_site, .pre_handler = look_around);
	clauses_move(1);
	KUNIT_EXPECT_EQ(test, inside.before, 1);
#endif
	KUNIT_EXPECT_FALSE(test, could_be_preempted);
}

static void H2_post_handler_follows(struct kunit *test)
{
	PROBE_AT(probe, TARGET, AFTER);
	probe.flags_after = 1;
	KUNIT_EXPECT_EQ(test, clauses_call(1), 2);
	EXPECT_HITS(probe, 1, 1);
	KUNIT_EXPECT_LT(test, probe.turn_before, probe.turn_after);
	/* The third argument has always been zero. */
	KUNIT_EXPECT_EQ(test, probe.flags_after, 0);
#ifdef CLAUSES_TARGET
	KUNIT_EXPECT_EQ(test, probe.ip_before,
			(unsigned long)probe.kp.addr + FTRACE_TRAP_BYTES);
	KUNIT_EXPECT_EQ(test, probe.ip_after,
			(unsigned long)probe.kp.addr + CALL_BYTES);
#endif
}

static void H2_post_handler_alone(struct kunit *test)
{
	PROBE_AT(probe, TARGET, AFTER, .pre_handler = NULL);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, probe.after, 1);
}

static int call_other(struct kprobe *kp, struct pt_regs *regs)
{
	clauses_call_other(1);
	return clauses_before(kp, regs);
}

static void call_other_after(struct kprobe *kp, struct pt_regs *regs,
			     unsigned long flags)
{
	clauses_call_other(1);
	clauses_after(kp, regs, flags);
}

/* All probes at the other place miss it, the disabled one too. */
static void H4_hits_in_handlers_are_missed(struct kunit *test)
{
	PROBE_AT(inner, OTHER);
	PROBE_AT(idle, OTHER, .flags = KPROBE_FLAG_DISABLED);
	PROBE_AT(outer, TARGET, .pre_handler = call_other,
		 .post_handler = call_other_after);
	KUNIT_EXPECT_EQ(test, clauses_call(1), 2);
	EXPECT_HITS(outer, 1, 1);
	KUNIT_EXPECT_EQ(test, inner.before, 0);
	KUNIT_EXPECT_EQ(test, inner.kp.nmissed, 2);
	KUNIT_EXPECT_EQ(test, idle.kp.nmissed, 2);
	KUNIT_EXPECT_EQ(test, outer.kp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, clauses_call_other(1), 3);
	KUNIT_EXPECT_EQ(test, inner.before, 1);
}

#ifdef CLAUSES_TARGET
static int go_to_the_other(struct kprobe *kp, struct pt_regs *regs)
{
	clauses_before(kp, regs);
	instruction_pointer_set(regs, (unsigned long)kprobes_clauses_other);
	return 1;
}

/* Instead of a function runs another one, as error injection wants it. */
static void H3_other_path_through_ftrace(struct kunit *test)
{
	int post;

	PROBE_AT(older, TARGET);
	/* The second one would be damage for C (defect D2). */
	for (post = 0; post <= IS_ENABLED(CONFIG_RUST_KPROBES); post++) {
		PROBE_AT(newer, TARGET, .pre_handler = go_to_the_other, AFTER_IF(post));
		KUNIT_EXPECT_EQ(test, clauses_call(1), 3);
		EXPECT_HITS(newer, 1, 0);
		KUNIT_EXPECT_EQ(test, older.before, post);
		take_out(&newer);
		KUNIT_EXPECT_EQ(test, clauses_call(1), 2);
		KUNIT_EXPECT_EQ(test, older.before, post + 1);
	}
}

static struct kprobe * __percpu *running_kprobe;

struct running {
	struct kprobe kp;
	struct kprobe seen;
};

static int note_running(struct kprobe *kp, struct pt_regs *regs)
{
	struct running *probe = container_of(kp, struct running, kp);

	probe->seen.addr = this_cpu_read(*running_kprobe)->addr;
	probe->seen.flags = this_cpu_read(*running_kprobe)->flags;
	return 0;
}

/* bpf_get_func_ip() asks it. */
static void M5_running_probe_tells_where(struct kunit *test)
{
	struct running first = { .kp = { .symbol_name = TARGET, .pre_handler = note_running } };
	struct running second = first;

	/* Of the CPU's address space, which GCC knows of: by its number only. */
	running_kprobe = (void __percpu *)(unsigned long)
			 clauses_symbol("current_kprobe");
	if (!running_kprobe)
		kunit_skip(test, "calls through pointers are checked");

	KUNIT_ASSERT_EQ(test, register_kprobe(&first.kp), 0);
	clauses_call(1);
	KUNIT_EXPECT_PTR_EQ(test, first.seen.addr, first.kp.addr);
	KUNIT_EXPECT_TRUE(test, first.seen.flags & KPROBE_FLAG_ON_FUNC_ENTRY);
	first.seen = (struct kprobe) {};

	/* Two share an address: both are told it. */
	KUNIT_EXPECT_EQ(test, register_kprobe(&second.kp), 0);
	clauses_call(1);
	KUNIT_EXPECT_PTR_EQ(test, first.seen.addr, first.kp.addr);
	KUNIT_EXPECT_PTR_EQ(test, second.seen.addr, first.kp.addr);
	KUNIT_EXPECT_TRUE(test, first.seen.flags & KPROBE_FLAG_ON_FUNC_ENTRY);
	KUNIT_EXPECT_TRUE(test, second.seen.flags & KPROBE_FLAG_ON_FUNC_ENTRY);
	unregister_kprobe(&second.kp);
	unregister_kprobe(&first.kp);
	KUNIT_EXPECT_NULL(test, this_cpu_read(*running_kprobe));
}
#endif

static struct kunit_case hit_cases[] = {
	KUNIT_CASE(H1_handlers_are_not_preempted),
	KUNIT_CASE(H2_post_handler_follows),
	KUNIT_CASE(H2_post_handler_alone),
	KUNIT_CASE(H4_hits_in_handlers_are_missed),
#ifdef CLAUSES_TARGET
	KUNIT_CASE(H3_other_path_through_ftrace),
	KUNIT_CASE(M5_running_probe_tells_where),
#endif
	{}
};

CLAUSES_SUITE(clauses_hit, hit_cases);
