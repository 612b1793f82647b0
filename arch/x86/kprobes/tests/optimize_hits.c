// SPDX-License-Identifier: GPL-2.0
/*
 * Hits by jumps: what handlers are shown, and what they may change.
 */
#include <linux/preempt.h>
#include "jumps.h"

/* Not here, as it is shown an address: see hidden(). */
static struct pt_regs *shown;

static int show(struct kprobe *kp, struct pt_regs *regs)
{
	*shown = *regs;
	return clauses_before(kp, regs);
}

/* Patterns, and the flags that are given. */
static struct pt_regs some_registers(unsigned long flags)
{
	struct pt_regs regs = {};
	unsigned long *each = (unsigned long *)&regs;
	int n;

	for (n = 0; n < offsetof(struct pt_regs, orig_ax) / sizeof(long); n++)
		each[n] = (n + 1) * 0x9e3779b97f4a7c15 ^ flags;
	regs.flags = flags | X86_EFLAGS_IF | X86_EFLAGS_FIXED;
	return regs;
}

static const unsigned long some_flags[] = {
	0, X86_EFLAGS_CF, X86_EFLAGS_OF,
	X86_EFLAGS_SF | X86_EFLAGS_ZF | X86_EFLAGS_PF | X86_EFLAGS_AF,
};

/* All general registers, which are those before orig_ax. */
#define EXPECT_SAME_REGISTERS(test, one, other)				\
	KUNIT_EXPECT_MEMEQ(test, one, other, offsetof(struct pt_regs, orig_ax))

static void O6_registers_are_shown_and_kept(struct kunit *test)
{
	struct pt_regs seen = {};
	int n;

	shown = &seen;
	for (n = 0; n < ARRAY_SIZE(some_flags); n++) {
		struct pt_regs given = some_registers(some_flags[n]);
		struct pt_regs bare = given, probed = given;

		clauses_invoke_with(&bare, optimize_registers);
		PROBE_IN(probe, PLACE(registers), .pre_handler = show);
		KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLACE(registers)));
		clauses_invoke_with(&probed, optimize_registers);
		take_out(&probe);

		KUNIT_EXPECT_EQ(test, probe.before, 1);
		EXPECT_SAME_REGISTERS(test, &probed, &bare);
		KUNIT_EXPECT_EQ(test, probed.flags, bare.flags);
		KUNIT_EXPECT_EQ(test, probed.sp, bare.sp);

		EXPECT_SAME_REGISTERS(test, &seen, &given);
		KUNIT_EXPECT_EQ(test, seen.flags, given.flags);
		/* On the stack is where the function returns to. */
		KUNIT_EXPECT_EQ(test, seen.sp, probed.sp - 8);
		KUNIT_EXPECT_EQ(test, seen.ip, (long)PLACE(registers) + 1);
		KUNIT_EXPECT_EQ(test, seen.cs, __KERNEL_CS);
		KUNIT_EXPECT_EQ(test, seen.ss, __KERNEL_DS);
		KUNIT_EXPECT_EQ(test, seen.orig_ax, -1);
	}
}

static int change(struct kprobe *kp, struct pt_regs *regs)
{
	regs->ax = 1000;
	regs->r14 = 2000;
	regs->flags ^= X86_EFLAGS_CF;
	regs->ip = 16;
	clauses_before(kp, regs);
	return 1;
}

/* But not where it goes on, nor does it matter what a handler returns. */
static void O6_handlers_change_registers(struct kunit *test)
{
	struct pt_regs regs = some_registers(X86_EFLAGS_CF), as_if = regs;

	as_if.ax = 1000;
	as_if.r14 = 2000;
	as_if.flags &= ~X86_EFLAGS_CF;
	clauses_invoke_with(&as_if, optimize_registers);

	PROBE_IN(older, PLACE(registers));
	PROBE_IN(newer, PLACE(registers), .pre_handler = change);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLACE(registers)));
	if (IS_JUMP(PLACE(registers))) {
		clauses_invoke_with(&regs, optimize_registers);
		EXPECT_SAME_REGISTERS(test, &regs, &as_if);
		KUNIT_EXPECT_EQ(test, regs.flags, as_if.flags);
		KUNIT_EXPECT_EQ(test, newer.before, 1);
		KUNIT_EXPECT_EQ(test, older.before, 1);
	}
}

static unsigned long ran_with, saw;

static int look_at_flags(struct kprobe *kp, struct pt_regs *regs)
{
	ran_with = native_save_fl();
	saw = regs->flags;
	return clauses_before(kp, regs);
}

/* Compiled code counts on it that strings are not copied backwards. */
static void O6_handlers_have_their_own_direction(struct kunit *test)
{
	struct pt_regs regs = some_registers(X86_EFLAGS_DF);

	PROBE_IN(probe, PLACE(registers), .pre_handler = look_at_flags);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLACE(registers)));
	clauses_invoke_with(&regs, optimize_registers);
	take_out(&probe);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
	KUNIT_EXPECT_EQ(test, ran_with & X86_EFLAGS_DF, 0);
	KUNIT_EXPECT_NE(test, saw & X86_EFLAGS_DF, 0);
	KUNIT_EXPECT_NE(test, regs.flags & X86_EFLAGS_DF, 0);
}

static bool in_other_context;

static int look_around(struct kprobe *kp, struct pt_regs *regs)
{
	in_other_context |= preemptible() || irqs_disabled() || in_nmi();
	return clauses_before(kp, regs);
}

static void O6_handlers_run_in_the_context_of_the_place(struct kunit *test)
{
	PROBE_IN(probe, PLAIN, .pre_handler = look_around);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
	in_other_context = false;
	KUNIT_EXPECT_EQ(test, call(optimize_plain, 1), 6);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
	KUNIT_EXPECT_FALSE(test, in_other_context);
}

static int call_second(struct kprobe *kp, struct pt_regs *regs)
{
	call(optimize_second, 1);
	return clauses_before(kp, regs);
}

/* Of two jumps, and of a breakpoint in whose handler a jump is. */
static void O6_hits_in_handlers_are_missed(struct kunit *test)
{
	int post;

	for (post = 0; post < 2; post++) {
		PROBE_IN(inner, SECOND);
		PROBE_IN(idle, SECOND, .flags = KPROBE_FLAG_DISABLED);
		PROBE_IN(outer, PLAIN, .pre_handler = call_second, AFTER_IF(post));
		KUNIT_EXPECT_TRUE(test, becomes_a_jump(SECOND));
		if (!post)
			KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
		KUNIT_EXPECT_EQ(test, call(optimize_plain, 1), 6);
		KUNIT_EXPECT_EQ(test, outer.before, 1);
		KUNIT_EXPECT_EQ(test, outer.kp.nmissed, 0);
		KUNIT_EXPECT_EQ(test, inner.before, 0);
		KUNIT_EXPECT_EQ(test, inner.kp.nmissed, 1);
		KUNIT_EXPECT_EQ(test, idle.kp.nmissed, 1);
		KUNIT_EXPECT_EQ(test, call(optimize_second, 1), 6);
		KUNIT_EXPECT_EQ(test, inner.before, 1);
		KUNIT_EXPECT_EQ(test, idle.before, 0);
	}
}

static struct kunit_case optimize_hits_cases[] = {
	KUNIT_CASE(O6_registers_are_shown_and_kept),
	KUNIT_CASE(O6_handlers_change_registers),
	KUNIT_CASE(O6_handlers_have_their_own_direction),
	KUNIT_CASE(O6_handlers_run_in_the_context_of_the_place),
	KUNIT_CASE(O6_hits_in_handlers_are_missed),
	{}
};

CLAUSES_SUITE(clauses_optimize_hits, optimize_hits_cases, WITH_SWITCH);
