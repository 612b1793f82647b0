// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of jumps that replace one instruction: which breakpoints become a jump,
 * why others do not, and the registers that handlers see when a jump is hit.
 */
#include <linux/preempt.h>
#include "optimize.h"

static const struct {
	const char *name;
	const u8 *at;
	int reason;
} places[] = PLACES;

KUNIT_ARRAY_PARAM_DESC(places, places, name);

static void O5_what_may_be_a_jump(struct kunit *test)
{
	const typeof(places[0]) *place = test->param_value;
	const u8 *at = hidden(place->at);
	struct kprobe_no_jump why = {};

	/* It is not in the way of a jump that replaces the move before it. */
	PROBE_IN(behind, clauses_move_next);
	PROBE_IN(probe, at);
	KUNIT_EXPECT_TRUE(test, optimizer_was_here(test));
	KUNIT_EXPECT_EQ(test, opcode_byte(at),
			place->reason ? BREAKPOINT_OPCODE : JUMP_OPCODE);
	if (IS_ENABLED(CONFIG_KPROBES_C))
		return;
	KUNIT_EXPECT_EQ(test, kprobe_why_no_jump(&probe.kp, &why),
			!!place->reason);
	KUNIT_EXPECT_EQ(test, why.reason, place->reason);
}

static unsigned long shown_at, shown_value;
static bool in_other_context;

/* The first argument is in the register of the return value. */
static int look_around(struct kprobe *kp, struct pt_regs *regs)
{
	shown_at = instruction_pointer(regs);
	shown_value = regs_return_value(regs);
	in_other_context |= preemptible() || irqs_disabled() == IS_ENABLED(CONFIG_X86);
	regs_set_return_value(regs, shown_value + 1);
	return clauses_before(kp, regs);
}

static void O6_handlers_are_called_by_a_jump(struct kunit *test)
{
	in_other_context = false;
	PROBE_IN(probe, PLAIN, .pre_handler = look_around);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
	KUNIT_EXPECT_EQ(test, call(optimize_plain, 1), 7);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
	KUNIT_EXPECT_EQ(test, shown_at, (unsigned long)PLAIN + TRAP_BYTES);
	KUNIT_EXPECT_EQ(test, shown_value, 1);
	KUNIT_EXPECT_FALSE(test, in_other_context);
}

static struct kunit_case optimize_rules_cases[] = {
	KUNIT_CASE_PARAM(O5_what_may_be_a_jump, places_gen_params),
	KUNIT_CASE(O6_handlers_are_called_by_a_jump),
	{}
};

CLAUSES_SUITE(clauses_optimize_rules, optimize_rules_cases, WITH_SWITCH);
