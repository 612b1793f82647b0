// SPDX-License-Identifier: GPL-2.0
/*
 * Several return probes registered, or unregistered, at once; and what becomes
 * of those that are unregistered though they are not registered.
 */
#include "returns.h"

/* The errno of a batch that is to be refused; if it is not, that is undone. */
static int all_refused_by(struct kretprobe **batch, int count)
{
	int err = register_kretprobes(batch, count);

	if (!err)
		unregister_kretprobes(batch, count);
	return err;
}

static void K2_empty_batch(struct kunit *test)
{
	struct kretprobe *none[1] = {};

	KUNIT_EXPECT_EQ(test, register_kretprobes(none, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_kretprobes(none, -1), -EINVAL);
	unregister_kretprobes(none, 0);
	unregister_kretprobes(none, -1);
}

static void K2_all_of_a_batch(struct kunit *test)
{
	struct watched inner = WATCHED(INNER), outer = WATCHED(OUTER);
	struct watched untraced = WATCHED(UNTRACED);
	struct kretprobe *batch[] = { &inner.rp, &outer.rp, &untraced.rp };

	KUNIT_ASSERT_EQ(test, register_kretprobes(batch, 3), 0);
	KUNIT_EXPECT_EQ(test, kprobes_returns_outer(returns_nothing, NULL), 2);
	KUNIT_EXPECT_EQ(test, kprobes_returns_untraced(returns_nothing, NULL), 1);
	EXPECT_TOLD(test, &inner, 1, 1);
	EXPECT_TOLD(test, &outer, 1, 1);
	EXPECT_TOLD(test, &untraced, 1, 1);
	unregister_kretprobes(batch, 3);
	kprobes_returns_outer(returns_nothing, NULL);
	kprobes_returns_untraced(returns_nothing, NULL);
	EXPECT_TOLD(test, &inner, 1, 1);
	EXPECT_TOLD(test, &outer, 1, 1);
	EXPECT_TOLD(test, &untraced, 1, 1);
}

/* What is refused at each step, and how. */
static const struct {
	struct watched probe;
	int err;
} steps[] = {
	{ WATCHED("kprobes_returns_no_such_symbol"), -ENOENT },
	{ WATCHED(INNER, .data_size = KRETPROBE_MAX_DATA_SIZE + 1), -E2BIG },
	{ WATCHED(INNER, .maxactive = MAX_CALLS + 1), -ENOMEM },
	{ WATCHED("get_kprobe"), -EINVAL },
};

static void K2_first_error_undoes_the_batch(struct kunit *test)
{
	struct watched good = WATCHED(OUTER), later = WATCHED(INNER);
	int n;

	for (n = 0; n < ARRAY_SIZE(steps); n++) {
		struct watched bad = steps[n].probe;
		struct kretprobe *batch[] = { &good.rp, &bad.rp, &later.rp };

		watched_anew(&good);
		KUNIT_EXPECT_EQ(test, all_refused_by(batch, 3), steps[n].err);
		kprobes_returns_outer(returns_nothing, NULL);
		EXPECT_TOLD(test, &good, 0, 0);
		EXPECT_TOLD(test, &bad, 0, 0);
		EXPECT_TOLD(test, &later, 0, 0);
		/* What came before keeps its address. */
		KUNIT_EXPECT_NOT_NULL(test, good.rp.kp.addr);
		KUNIT_EXPECT_NULL(test, later.rp.kp.addr);
		KUNIT_EXPECT_NULL(test, later.rp.STORE);
	}
}

/* As if they had been registered one by one. */
static void K2_batch_leaves_what_is_behind(struct kunit *test)
{
	struct watched good = WATCHED(OUTER), behind = WATCHED(INNER, .nmissed = 7);
	struct watched bad = WATCHED("get_kprobe");
	struct kretprobe *batch[] = { &good.rp, &bad.rp, &behind.rp };

	KUNIT_EXPECT_EQ(test, all_refused_by(batch, 3), -EINVAL);
	KUNIT_EXPECT_EQ(test, good.rp.maxactive, usual_calls());
	KUNIT_EXPECT_EQ(test, bad.rp.maxactive, usual_calls());
	KUNIT_EXPECT_EQ(test, behind.rp.maxactive, 0);
	KUNIT_EXPECT_EQ(test, behind.rp.nmissed, 7);
	KUNIT_EXPECT_NULL(test, behind.rp.kp.pre_handler);
}

/* By its address: with a symbol it would be refused for having both. */
static void K2_twice_in_a_batch(struct kunit *test)
{
	const size_t stores = rust_kprobes_return_pools();
	struct watched twice = WATCHED(NULL, .kp.addr = returns_entry());
	struct watched other = WATCHED(OUTER);
	struct kretprobe *batch[] = { &twice.rp, &other.rp, &twice.rp };
	int err;

	kunit_warning_suppress(test)
		err = all_refused_by(batch, 3);
	KUNIT_EXPECT_EQ(test, err, -EINVAL);
	kprobes_returns_outer(returns_nothing, NULL);
	EXPECT_TOLD(test, &twice, 0, 0);
	EXPECT_TOLD(test, &other, 0, 0);
	/* Nothing is left of the first time either. */
	EXPECT_STORES(test, stores);
	watched_anew(&twice);
	twice.rp.kp.addr = returns_entry();
	KUNIT_ASSERT_EQ(test, register_kretprobe(&twice.rp), 0);
	call_inner();
	EXPECT_TOLD(test, &twice, 1, 1);
	unregister_kretprobe(&twice.rp);
	EXPECT_STORES(test, stores);
}

/* Not of the same batch: what a client leaves there may be anything. */
static void K2_what_a_client_leaves_is_no_store(struct kunit *test)
{
	WATCH(probe, INNER, .STORE = (void *)16);
	call_inner();
	EXPECT_TOLD(test, &probe, 1, 1);
}

/* C follows what is in rh: it may be anything after these. */
static void spare_c(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_KPROBES_C))
		kunit_skip(test, "defect D4: C would use what is not there");
}

static void D4_never_registered(struct kunit *test)
{
	struct watched probe = WATCHED(NULL, .kp.addr = returns_entry());

	spare_c(test);
	unregister_kretprobe(&probe.rp);
	KUNIT_EXPECT_NULL(test, probe.rp.kp.addr);
}

static void D4_refused_at_each_step(struct kunit *test)
{
	int n;

	spare_c(test);
	for (n = 0; n < ARRAY_SIZE(steps); n++) {
		struct watched bad = steps[n].probe;

		KUNIT_EXPECT_EQ(test, refused_by(&bad), steps[n].err);
		KUNIT_EXPECT_NULL(test, bad.rp.STORE);
		unregister_kretprobe(&bad.rp);
		KUNIT_EXPECT_NULL(test, bad.rp.kp.addr);
		KUNIT_EXPECT_NULL(test, bad.rp.STORE);
	}
}

static void D4_unregistered_twice(struct kunit *test)
{
	const size_t stores = rust_kprobes_return_pools();
	struct watched probe = WATCHED(INNER);

	spare_c(test);
	WATCH(stays, INNER);
	KUNIT_EXPECT_EQ(test, register_kretprobe(&probe.rp), 0);
	unregister_kretprobe(&probe.rp);
	KUNIT_EXPECT_NULL(test, probe.rp.STORE);
	KUNIT_EXPECT_NOT_NULL(test, probe.rp.kp.addr);
	EXPECT_STORES(test, stores + 1);
	unregister_kretprobe(&probe.rp);
	KUNIT_EXPECT_NULL(test, probe.rp.kp.addr);
	/* Twice in a batch, too. */
	watched_anew(&probe);
	KUNIT_EXPECT_EQ(test, register_kretprobe(&probe.rp), 0);
	unregister_kretprobes((struct kretprobe *[]) { &probe.rp, &probe.rp }, 2);
	call_inner();
	EXPECT_TOLD(test, &probe, 0, 0);
	EXPECT_TOLD(test, &stays, 1, 1);
	unwatch(&stays);
	EXPECT_STORES(test, stores);
}

static void D4_strangers_in_a_batch(struct kunit *test)
{
	struct watched known = WATCHED(INNER), refused = WATCHED("get_kprobe");
	struct watched stranger = WATCHED(NULL);
	struct kretprobe *batch[] = { &stranger.rp, &known.rp, &refused.rp };

	spare_c(test);
	stranger.rp.kp.addr = (kprobe_opcode_t *)kprobes_returns_outer;
	KUNIT_EXPECT_EQ(test, refused_by(&refused), -EINVAL);
	KUNIT_ASSERT_EQ(test, register_kretprobe(&known.rp), 0);
	unregister_kretprobes(batch, 3);
	KUNIT_EXPECT_NULL(test, stranger.rp.kp.addr);
	KUNIT_EXPECT_NULL(test, refused.rp.kp.addr);
	KUNIT_EXPECT_NOT_NULL(test, known.rp.kp.addr);
	KUNIT_EXPECT_NULL(test, known.rp.STORE);
	kprobes_returns_outer(returns_nothing, NULL);
	EXPECT_TOLD(test, &known, 0, 0);
}

/* It leads to what is in store for the one that it is a copy of. */
static void D4_copy_of_a_registered_one(struct kunit *test)
{
	const size_t stores = rust_kprobes_return_pools();
	struct watched copy;
	int turn;

	spare_c(test);
	WATCH(probe, INNER);
	copy = probe;
	/* The symbol and the address are both there. */
	KUNIT_EXPECT_EQ(test, register_kretprobe(&copy.rp), -EINVAL);
#ifdef CONFIG_RUST_KPROBES
	KUNIT_EXPECT_EQ(test, kretprobe_reserve(&copy.rp, 100), -EINVAL);
#endif
	unregister_kretprobe(&copy.rp);
	KUNIT_EXPECT_NULL(test, copy.rp.kp.addr);
	for (turn = 1; turn <= 2; turn++) {
		call_inner();
		EXPECT_TOLD(test, &probe, turn, turn);
		KUNIT_EXPECT_EQ(test, probe.rp.nmissed, 0);
		/* What is nobody's goes a moment later. */
		msleep(100);
		EXPECT_STORES(test, stores + 1);
	}
	unwatch(&probe);
	EXPECT_STORES(test, stores);
}

static void D4_garbage_is_no_store(struct kunit *test)
{
	struct watched probe = WATCHED(NULL, .kp.addr = returns_entry(), .STORE = (void *)16);

	spare_c(test);
	WATCH(stays, INNER);
	unregister_kretprobe(&probe.rp);
	KUNIT_EXPECT_NULL(test, probe.rp.kp.addr);
	call_inner();
	EXPECT_TOLD(test, &stays, 1, 1);
}

static struct kunit_case returns_batch_cases[] = {
	KUNIT_CASE(K2_empty_batch),
	KUNIT_CASE(K2_all_of_a_batch),
	KUNIT_CASE(K2_first_error_undoes_the_batch),
	KUNIT_CASE(K2_batch_leaves_what_is_behind),
	KUNIT_CASE(K2_twice_in_a_batch),
	KUNIT_CASE(K2_what_a_client_leaves_is_no_store),
	KUNIT_CASE(D4_never_registered),
	KUNIT_CASE(D4_refused_at_each_step),
	KUNIT_CASE(D4_unregistered_twice),
	KUNIT_CASE(D4_strangers_in_a_batch),
	KUNIT_CASE(D4_copy_of_a_registered_one),
	KUNIT_CASE(D4_garbage_is_no_store),
	{}
};

CLAUSES_SUITE(clauses_returns_batch, returns_batch_cases, WITH_STORES);
