// SPDX-License-Identifier: GPL-2.0
/*
 * Several probes at one address; enabling and disabling.
 */
#include "clauses.h"

TEST(R5_newest_is_called_first)
{
	struct counted probes[3] = {};
	int n;

	for (n = 0; n < 3; n++) {
		probes[n] = COUNTED_AT(TARGET);
		with_after(&probes[n]);
		KUNIT_ASSERT_EQ(test, register_kprobe(&probes[n].kp), 0);
	}
	clauses_call(1);
	KUNIT_EXPECT_LT(test, probes[2].turn_before, probes[1].turn_before);
	KUNIT_EXPECT_LT(test, probes[1].turn_before, probes[0].turn_before);
	KUNIT_EXPECT_LT(test, probes[0].turn_before, probes[2].turn_after);
	KUNIT_EXPECT_LT(test, probes[2].turn_after, probes[1].turn_after);
	KUNIT_EXPECT_LT(test, probes[1].turn_after, probes[0].turn_after);
	for (n = 0; n < 3; n++)
		unregister_kprobe(&probes[n].kp);
}

TEST(R5_each_goes_alone)
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

TEST(R5_enabled_one_joins_a_disabled_one)
{
	PROBE_AT(first, TARGET, .flags = KPROBE_FLAG_DISABLED);
	PROBE_AT(second, TARGET);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, first.before, 0);
	KUNIT_EXPECT_EQ(test, second.before, 1);
}

TEST(R6_disable_unknown)
{
	struct counted probe = COUNTED_IN(kprobes_clauses_target);

	KUNIT_EXPECT_EQ(test, disable_kprobe(&probe.kp), -EINVAL);
}

TEST(R6_disable_and_enable)
{
	PROBE_AT(probe, TARGET, .flags = KPROBE_FLAG_DISABLED);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, probe.before, 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&probe.kp), 0);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&probe.kp), 0);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&probe.kp), 0);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
}

TEST(R6_others_at_the_address_go_on)
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

TEST(R7_enable_unknown)
{
	struct counted probe = COUNTED_IN(kprobes_clauses_target);

	KUNIT_EXPECT_EQ(test, enable_kprobe(&probe.kp), -EINVAL);
}

TEST(R7_enable_enabled)
{
	PROBE_AT(probe, TARGET);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&probe.kp), 0);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
}

#include "share.cases"
SUITE("clauses_share");
