// SPDX-License-Identifier: GPL-2.0
/*
 * Several probes at one address; enabling and disabling.
 */
#include "clauses.h"

static void R5_newest_is_called_first(struct kunit *test)
{
	PROBE_AT(oldest, TARGET, AFTER);
	PROBE_AT(middle, TARGET, AFTER);
	PROBE_AT(newest, TARGET, AFTER);
	clauses_call(1);
	KUNIT_EXPECT_LT(test, newest.turn_before, middle.turn_before);
	KUNIT_EXPECT_LT(test, middle.turn_before, oldest.turn_before);
	KUNIT_EXPECT_LT(test, oldest.turn_before, newest.turn_after);
	KUNIT_EXPECT_LT(test, newest.turn_after, middle.turn_after);
	KUNIT_EXPECT_LT(test, middle.turn_after, oldest.turn_after);
}

static void R5_each_goes_alone(struct kunit *test)
{
	PROBE_AT(first, TARGET);
	PROBE_AT(second, TARGET);
	clauses_call(1);
	take_out(&first);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, first.before, 1);
	KUNIT_EXPECT_EQ(test, second.before, 2);
	take_out(&second);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, second.before, 2);
}

static void R5_enabled_one_joins_a_disabled_one(struct kunit *test)
{
	PROBE_AT(first, TARGET, .flags = KPROBE_FLAG_DISABLED);
	PROBE_AT(second, TARGET);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, first.before, 0);
	KUNIT_EXPECT_EQ(test, second.before, 1);
}

static void R6_disable_and_enable(struct kunit *test)
{
	struct counted stranger = COUNTED_IN(kprobes_clauses_target);

	PROBE_AT(probe, TARGET, .flags = KPROBE_FLAG_DISABLED);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, probe.before, 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&probe.kp), 0);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&stranger.kp), -EINVAL);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&probe.kp), 0);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&probe.kp), 0);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
}

static void R6_others_at_the_address_go_on(struct kunit *test)
{
	PROBE_AT(first, TARGET);
	PROBE_AT(second, TARGET);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&first.kp), 0);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, first.before, 0);
	KUNIT_EXPECT_EQ(test, second.before, 1);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&second.kp), 0);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, second.before, 1);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&first.kp), 0);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, first.before, 1);
	KUNIT_EXPECT_EQ(test, second.before, 1);
}

static void R7_enable_enabled(struct kunit *test)
{
	struct counted stranger = COUNTED_IN(kprobes_clauses_target);

	KUNIT_EXPECT_EQ(test, enable_kprobe(&stranger.kp), -EINVAL);
	PROBE_AT(probe, TARGET);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&probe.kp), 0);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
}

static struct kunit_case share_cases[] = {
	KUNIT_CASE(R5_newest_is_called_first),
	KUNIT_CASE(R5_each_goes_alone),
	KUNIT_CASE(R5_enabled_one_joins_a_disabled_one),
	KUNIT_CASE(R6_disable_and_enable),
	KUNIT_CASE(R6_others_at_the_address_go_on),
	KUNIT_CASE(R7_enable_enabled),
	{}
};

CLAUSES_SUITE(clauses_share, share_cases);
