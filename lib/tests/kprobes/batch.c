// SPDX-License-Identifier: GPL-2.0
/*
 * Several probes registered, or unregistered, at once.
 */
#include "step.h"

static void R9_empty_batch(struct kunit *test)
{
	struct kprobe *none[1] = {};

	KUNIT_EXPECT_EQ(test, register_kprobes(none, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_kprobes(none, -1), -EINVAL);
	unregister_kprobes(none, 0);
	unregister_kprobes(none, -1);
}

static void R9_first_error_undoes_the_batch(struct kunit *test)
{
	struct counted good = COUNTED_AT(TARGET);
	struct counted bad = COUNTED_AT("kprobes_clauses_no_such_symbol");
	struct counted later = COUNTED_AT(OTHER);
	struct kprobe *batch[] = { &good.kp, &bad.kp, &later.kp };

	KUNIT_EXPECT_EQ(test, register_kprobes(batch, 3), -ENOENT);
	clauses_call(1);
	clauses_call_other(1);
	KUNIT_EXPECT_EQ(test, good.before, 0);
	KUNIT_EXPECT_EQ(test, later.before, 0);
	/* What came before keeps its address, what comes after is untouched. */
	KUNIT_EXPECT_NOT_NULL(test, good.kp.addr);
	KUNIT_EXPECT_NULL(test, later.kp.addr);
}

static void R9_first_of_several_errors_is_told(struct kunit *test)
{
	struct counted blacklisted = COUNTED_AT("get_kprobe");
	struct counted unknown = COUNTED_AT("kprobes_clauses_no_such_symbol");
	struct kprobe *one[] = { &blacklisted.kp, &unknown.kp };
	struct kprobe *other[] = { &unknown.kp, &blacklisted.kp };

	KUNIT_EXPECT_EQ(test, register_kprobes(one, 2), -EINVAL);
	anew(&blacklisted);
	KUNIT_EXPECT_EQ(test, register_kprobes(other, 2), -ENOENT);
}

static void R9_order_of_the_array_is_that_of_registration(struct kunit *test)
{
	struct counted first = COUNTED_AT(TARGET);
	struct counted second = COUNTED_AT(TARGET);
	struct kprobe *batch[] = { &first.kp, &second.kp };

	KUNIT_ASSERT_EQ(test, register_kprobes(batch, 2), 0);
	clauses_call(1);
	KUNIT_EXPECT_LT(test, second.turn_before, first.turn_before);
	unregister_kprobes(batch, 2);
}

static void R8_stranger_in_a_batch(struct kunit *test)
{
	struct counted known = COUNTED_AT(TARGET);
	struct counted stranger = COUNTED_IN(kprobes_clauses_other);
	struct kprobe *batch[] = { &stranger.kp, &known.kp };

	KUNIT_ASSERT_EQ(test, register_kprobe(&known.kp), 0);
	unregister_kprobes(batch, 2);
	KUNIT_EXPECT_NULL(test, stranger.kp.addr);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, known.before, 0);
}

#ifdef CLAUSES_TARGET
static void R9_many_at_once(struct kunit *test)
{
	struct many *many = clauses_many(test);
	int n;

	KUNIT_ASSERT_EQ(test, register_kprobes(many->batch, ROW), 0);
	clauses_row();
	unregister_kprobes(many->batch, ROW);
	KUNIT_EXPECT_EQ(test, clauses_hit_once(many), ROW);
	/* C takes its jumps out later. */
	if (!IS_ENABLED(CONFIG_OPTPROBES) || !IS_ENABLED(CONFIG_KPROBES_C))
		KUNIT_EXPECT_MEMEQ(test, many->text, clauses_row_begin,
				   ROW_BYTES);
	clauses_row();
	KUNIT_EXPECT_EQ(test, clauses_hit_once(many), ROW);

	/* The last one is refused, after others have been unlocked for. */
	for (n = 0; n < ROW; n++)
		many->probes[n].kp.flags = 0;
	many->probes[ROW - 1].kp.addr = (kprobe_opcode_t *)16;
	KUNIT_EXPECT_EQ(test, register_kprobes(many->batch, ROW), -ENOENT);
	clauses_row();
	KUNIT_EXPECT_EQ(test, clauses_hit_once(many), ROW);
}
#endif

static struct kunit_case batch_cases[] = {
	KUNIT_CASE(R9_empty_batch),
	KUNIT_CASE(R9_first_error_undoes_the_batch),
	KUNIT_CASE(R9_first_of_several_errors_is_told),
	KUNIT_CASE(R9_order_of_the_array_is_that_of_registration),
	KUNIT_CASE(R8_stranger_in_a_batch),
#ifdef CLAUSES_TARGET
	KUNIT_CASE_SLOW(R9_many_at_once),
#endif
	{}
};

CLAUSES_SUITE(clauses_batch, batch_cases);
