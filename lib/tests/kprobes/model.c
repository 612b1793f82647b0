// SPDX-License-Identifier: GPL-2.0
/*
 * The data that a client and kprobes share.
 */
#include "step.h"

#ifdef CLAUSES_TARGET
static void M1_layout(struct kunit *test)
{
	const size_t word = sizeof(long);

	KUNIT_EXPECT_EQ(test, offsetof(struct kprobe, hlist), 0);
	KUNIT_EXPECT_EQ(test, offsetof(struct kprobe, list), 2 * word);
	KUNIT_EXPECT_EQ(test, offsetof(struct kprobe, nmissed), 4 * word);
	KUNIT_EXPECT_EQ(test, offsetof(struct kprobe, addr), 5 * word);
	KUNIT_EXPECT_EQ(test, offsetof(struct kprobe, symbol_name), 6 * word);
	KUNIT_EXPECT_EQ(test, offsetof(struct kprobe, offset), 7 * word);
	KUNIT_EXPECT_EQ(test, offsetof(struct kprobe, pre_handler), 8 * word);
	KUNIT_EXPECT_EQ(test, offsetof(struct kprobe, post_handler), 9 * word);
	KUNIT_EXPECT_EQ(test, offsetof(struct kprobe, opcode), 10 * word);
	KUNIT_EXPECT_EQ(test, offsetof(struct kprobe, ainsn), 11 * word);
	KUNIT_EXPECT_EQ(test, offsetof(struct kprobe, flags),
			11 * word + AINSN_BYTES);
#ifdef CONFIG_RUST_KPROBES
	KUNIT_EXPECT_EQ(test, offsetof(struct kprobe, fault_handler),
			12 * word + AINSN_BYTES);
	KUNIT_EXPECT_EQ(test, sizeof(struct kprobe), 13 * word + AINSN_BYTES);
#else
	KUNIT_EXPECT_EQ(test, sizeof(struct kprobe), 12 * word + AINSN_BYTES);
#endif
}
#endif

/* Also where registration fails later: here, for the blacklist. */
static void M2_address_is_written_once_resolved(struct kunit *test)
{
	struct counted refused = COUNTED_AT("get_kprobe");

	KUNIT_EXPECT_EQ(test, register_kprobe(&refused.kp), -EINVAL);
	KUNIT_EXPECT_NOT_NULL(test, refused.kp.addr);
	PROBE_AT(good, TARGET);
	KUNIT_EXPECT_NOT_NULL(test, good.kp.addr);
	take_out(&good);
	KUNIT_EXPECT_NOT_NULL(test, good.kp.addr);
}

static void M2_only_disabled_is_the_clients(struct kunit *test)
{
	PROBE_AT(probe, TARGET, .nmissed = 7, .flags = ~0);
	KUNIT_EXPECT_EQ(test, probe.kp.nmissed, 0);
	KUNIT_EXPECT_TRUE(test, probe.kp.flags & KPROBE_FLAG_DISABLED);
	KUNIT_EXPECT_FALSE(test, probe.kp.flags & ~(KPROBE_FLAG_DISABLED |
						    KPROBE_FLAG_FTRACE |
						    KPROBE_FLAG_ON_FUNC_ENTRY));
}

static void M3_values_of_flags(struct kunit *test)
{
	struct kprobe probe = {};

	KUNIT_EXPECT_EQ(test, KPROBE_FLAG_GONE, 1);
	KUNIT_EXPECT_EQ(test, KPROBE_FLAG_DISABLED, 2);
	KUNIT_EXPECT_EQ(test, KPROBE_FLAG_OPTIMIZED, 4);
	KUNIT_EXPECT_EQ(test, KPROBE_FLAG_FTRACE, 8);
	KUNIT_EXPECT_EQ(test, KPROBE_FLAG_ON_FUNC_ENTRY, 16);
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(&probe));
	probe.flags = KPROBE_FLAG_GONE;
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&probe));
	KUNIT_EXPECT_TRUE(test, kprobe_gone(&probe));
}

static void M3_each_probe_has_its_flags(struct kunit *test)
{
	PROBE_AT(first, TARGET);
	PROBE_AT(second, TARGET);
	KUNIT_EXPECT_TRUE(test, first.kp.flags & KPROBE_FLAG_ON_FUNC_ENTRY);
	KUNIT_EXPECT_TRUE(test, second.kp.flags & KPROBE_FLAG_ON_FUNC_ENTRY);
#if defined(CONFIG_KPROBES_ON_FTRACE) && defined(CLAUSES_TARGET)
	KUNIT_EXPECT_TRUE(test, kprobe_ftrace(&first.kp));
	KUNIT_EXPECT_TRUE(test, kprobe_ftrace(&second.kp));
#endif
}

static void M6_registered_again_after_a_reset(struct kunit *test)
{
	PROBE_AT(probe, TARGET);
	unregister_kprobe(&probe.kp);
	/* The symbol and the address are both there. */
	KUNIT_EXPECT_EQ(test, register_kprobe(&probe.kp), -EINVAL);
	anew(&probe);
	KUNIT_EXPECT_EQ(test, register_kprobe(&probe.kp), 0);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
}

static void M6_unregistering_leaves_it_disabled(struct kunit *test)
{
	PROBE_AT(probe, TARGET);
	unregister_kprobe(&probe.kp);
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&probe.kp));
	probe.kp.addr = NULL;
	KUNIT_EXPECT_EQ(test, register_kprobe(&probe.kp), 0);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, probe.before, 0);
}

static struct kunit_case model_cases[] = {
#ifdef CLAUSES_TARGET
	KUNIT_CASE(M1_layout),
#endif
	KUNIT_CASE(M2_address_is_written_once_resolved),
	KUNIT_CASE(M2_only_disabled_is_the_clients),
	KUNIT_CASE(M3_values_of_flags),
	KUNIT_CASE(M3_each_probe_has_its_flags),
	KUNIT_CASE(M6_registered_again_after_a_reset),
	KUNIT_CASE(M6_unregistering_leaves_it_disabled),
	{}
};

CLAUSES_SUITE(clauses_model, model_cases);
