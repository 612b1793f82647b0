// SPDX-License-Identifier: GPL-2.0
/*
 * Registration of return probes: what is accepted, and with which errno
 * something is refused.
 */
#include <linux/limits.h>
#include "returns.h"

static long is_latest(void *data)
{
	const struct watched *probe = data;

	return CALLS(current)->first == IN_CALLS(probe->call);
}

/* The task has the call where others look for it, for as long as it lasts. */
static void K1_by_rethook(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, has_calls(current));
	WATCH(probe, INNER);
	KUNIT_EXPECT_EQ(test, kprobes_returns_inner(is_latest, &probe), 2);
	KUNIT_EXPECT_FALSE(test, has_calls(current));
	EXPECT_TOLD(test, &probe, 1, 1);
}

/* What is inlined into modules, and what these have of their own. */
static void M1_layout_of_return_probes(struct kunit *test)
{
	const size_t begin = sizeof(struct kprobe), pointer = sizeof(void *);

	KUNIT_EXPECT_EQ(test, offsetof(struct kretprobe, kp), 0);
	KUNIT_EXPECT_EQ(test, offsetof(struct kretprobe, handler), begin);
	KUNIT_EXPECT_EQ(test, offsetof(struct kretprobe, entry_handler), begin + pointer);
	KUNIT_EXPECT_EQ(test, offsetof(struct kretprobe, maxactive), begin + 2 * pointer);
	KUNIT_EXPECT_EQ(test, offsetof(struct kretprobe, nmissed),
			begin + 2 * pointer + 4);
	KUNIT_EXPECT_EQ(test, offsetof(struct kretprobe, data_size),
			begin + 2 * pointer + 8);
	KUNIT_EXPECT_EQ(test, offsetof(struct kretprobe, STORE),
			begin + 3 * pointer + 8);
	KUNIT_EXPECT_EQ(test, sizeof(struct kretprobe), begin + 4 * pointer + 8);
#ifdef CONFIG_KRETPROBE_ON_RETHOOK
	KUNIT_EXPECT_EQ(test, offsetof(struct kretprobe_instance, node), 0);
	KUNIT_EXPECT_EQ(test, offsetof(struct kretprobe_instance, data), 6 * pointer);
	KUNIT_EXPECT_EQ(test, offsetof(struct rethook, data), 0);
#endif
}

static void K2_neither_symbol_nor_address(struct kunit *test)
{
	REFUSED(-EINVAL, NULL);
}

static void K2_symbol_and_address(struct kunit *test)
{
	REFUSED(-EINVAL, INNER, .kp.addr = (kprobe_opcode_t *)kprobes_returns_inner);
}

static void K2_unknown_symbol(struct kunit *test)
{
	struct watched probe = WATCHED("kprobes_returns_no_such_symbol");

	KUNIT_EXPECT_EQ(test, refused_by(&probe), -ENOENT);
	KUNIT_EXPECT_NULL(test, probe.rp.kp.addr);
	/* It comes too late for that. */
	KUNIT_EXPECT_EQ(test, probe.rp.maxactive, 0);
}

static void K2_address_without_symbol(struct kunit *test)
{
	REFUSED(-ENOENT, NULL, .kp.addr = (kprobe_opcode_t *)16);
}

/* Behind the entry a probe may be, but not a return probe. */
static void K2_on_an_entry_alone(struct kunit *test)
{
	struct kprobe entry = { .symbol_name = UNTRACED };
	struct kprobe inside = {};
	int offset;

	KUNIT_ASSERT_EQ(test, register_kprobe(&entry), 0);
	unregister_kprobe(&entry);
	/* On ppc64le all before the local entry, and ftrace's call, is one. */
	offset = IS_ENABLED(CONFIG_PPC64) ? 4 : POINTER_BIT;
	while (++offset < 16) {
		inside = (struct kprobe) { .addr = entry.addr + offset };
		if (!register_kprobe(&inside))
			break;
	}
	KUNIT_ASSERT_LT(test, offset, 16);
	unregister_kprobe(&inside);
	REFUSED(-EINVAL, UNTRACED, .kp.offset = (void *)inside.addr + POINTER_BIT -
						(void *)kprobes_returns_untraced);
	REFUSED(-EINVAL, NULL, .kp.addr = inside.addr);
}

static void K2_by_address(struct kunit *test)
{
	WATCH(probe, NULL, .kp.addr = returns_entry());
	KUNIT_EXPECT_EQ(test, call_inner(), 1);
	EXPECT_TOLD(test, &probe, 1, 1);
}

/* The warning is once per boot, so only the errno is sure. */
static void K2_registered_already(struct kunit *test)
{
	struct watched probe = WATCHED(INNER);
	void *store;
	int again;

	KUNIT_ASSERT_EQ(test, register_kretprobe(&probe.rp), 0);
	store = probe.rp.STORE;
	/* The symbol and the address are both there. */
	KUNIT_EXPECT_EQ(test, register_kretprobe(&probe.rp), -EINVAL);
	probe.rp.kp.symbol_name = NULL;
	kunit_warning_suppress(test)
		again = register_kretprobe(&probe.rp);
	KUNIT_EXPECT_EQ(test, again, -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, probe.rp.STORE, store);
	KUNIT_EXPECT_EQ(test, call_inner(), 1);
	EXPECT_TOLD(test, &probe, 1, 1);
	unregister_kretprobe(&probe.rp);
}

/* It returns in another task. That it may be probed is not what is wrong. */
static void K2_not_where_tasks_are_switched(struct kunit *test)
{
	struct kprobe plain = { .symbol_name = "__switch_to", .flags = KPROBE_FLAG_DISABLED };

	if (!IS_ENABLED(CONFIG_X86))
		kunit_skip(test, "the architecture has no list of such functions");
	KUNIT_ASSERT_EQ(test, register_kprobe(&plain), 0);
	unregister_kprobe(&plain);
	REFUSED(-EINVAL, "__switch_to", .kp.flags = KPROBE_FLAG_DISABLED);
	/* By its address as well. */
	REFUSED(-EINVAL, NULL, .kp.addr = plain.addr, .kp.flags = KPROBE_FLAG_DISABLED);
}

static void K2_data_is_bounded(struct kunit *test)
{
	const size_t stores = rust_kprobes_return_pools();
	struct watched probe = WATCHED(INNER, .data_size = KRETPROBE_MAX_DATA_SIZE + 1);

	KUNIT_EXPECT_EQ(test, refused_by(&probe), -E2BIG);
	probe.rp.data_size = SIZE_MAX;
	KUNIT_EXPECT_EQ(test, refused_by(&probe), -E2BIG);
	KUNIT_EXPECT_NULL(test, probe.rp.STORE);
	KUNIT_EXPECT_EQ(test, rust_kprobes_return_pools(), stores);
	probe.rp.data_size = KRETPROBE_MAX_DATA_SIZE;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&probe.rp), 0);
	call_inner();
	unregister_kretprobe(&probe.rp);
	EXPECT_TOLD(test, &probe, 1, 1);
}

static void K2_calls_are_bounded(struct kunit *test)
{
	const size_t stores = rust_kprobes_return_pools();
	struct watched probe = WATCHED(INNER, .maxactive = MAX_CALLS + 1);

	KUNIT_EXPECT_EQ(test, refused_by(&probe), -ENOMEM);
	probe.rp.maxactive = INT_MAX;
	KUNIT_EXPECT_EQ(test, refused_by(&probe), -ENOMEM);
	KUNIT_EXPECT_EQ(test, rust_kprobes_return_pools(), stores);
	call_inner();
	EXPECT_TOLD(test, &probe, 0, 0);
	/* A client that wants less is welcome. */
	probe.rp.maxactive = 1;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&probe.rp), 0);
	call_inner();
	unregister_kretprobe(&probe.rp);
	EXPECT_TOLD(test, &probe, 1, 1);
}

static void K2_how_many_calls_is_told(struct kunit *test)
{
	static const int wanted[] = { 0, -1, INT_MIN, 1, 7, 1000 };
	int n;

	for (n = 0; n < ARRAY_SIZE(wanted); n++) {
		WATCH(probe, INNER, .maxactive = wanted[n]);
		KUNIT_EXPECT_EQ(test, probe.rp.maxactive,
				wanted[n] > 0 ? wanted[n] : usual_calls());
	}
}

/* There is room for as many as are told, and for no more. */
static void K2_usual_number_of_calls(struct kunit *test)
{
	const int calls = usual_calls();

	KUNIT_ASSERT_EQ(test, returns_grow(false), 0);
	WATCH(probe, DEEP);
	KUNIT_EXPECT_EQ(test, kprobes_returns_deep(calls), calls);
	EXPECT_TOLD(test, &probe, calls, calls);
	KUNIT_EXPECT_EQ(test, probe.rp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, kprobes_returns_deep(calls + 1), calls + 1);
	EXPECT_TOLD(test, &probe, 2 * calls, 2 * calls);
	KUNIT_EXPECT_EQ(test, probe.rp.nmissed, 1);
}

static void K2_nmissed_starts_at_zero(struct kunit *test)
{
	WATCH(probe, INNER, .nmissed = 7, .kp.nmissed = 7);
	KUNIT_EXPECT_EQ(test, probe.rp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, probe.rp.kp.nmissed, 0);
}

static void K2_no_handlers(struct kunit *test)
{
	WATCH(probe, INNER, .handler = NULL, .entry_handler = NULL);
	KUNIT_EXPECT_EQ(test, call_inner(), 1);
	KUNIT_EXPECT_FALSE(test, has_calls(current));
	KUNIT_EXPECT_EQ(test, probe.rp.nmissed, 0);
}

static void K2_either_handler_alone(struct kunit *test)
{
	WATCH(before, INNER, .handler = NULL);
	WATCH(after, INNER, .entry_handler = NULL);
	KUNIT_EXPECT_EQ(test, call_inner(), 1);
	EXPECT_TOLD(test, &before, 1, 0);
	EXPECT_TOLD(test, &after, 0, 1);
}

static int never(struct kprobe *kp, struct pt_regs *regs)
{
	atomic_inc(&container_of(kp, struct watched, rp.kp)->wrong);
	return 0;
}

static void never_after(struct kprobe *kp, struct pt_regs *regs,
			unsigned long flags)
{
	never(kp, regs);
}

/* Those of the probe on the entry are not the client's. */
static void K2_handlers_of_the_entry_are_replaced(struct kunit *test)
{
	WATCH(probe, INNER, .kp.pre_handler = never, .kp.post_handler = never_after);
	KUNIT_EXPECT_NULL(test, probe.rp.kp.post_handler);
	call_inner();
	EXPECT_TOLD(test, &probe, 1, 1);
}

/* What is refused for its entry has got as far as this. */
static void K2_refused_where_no_probe_may_be(struct kunit *test)
{
	struct watched probe = WATCHED("get_kprobe", .nmissed = 7);

	KUNIT_EXPECT_EQ(test, refused_by(&probe), -EINVAL);
	KUNIT_EXPECT_NULL(test, probe.rp.STORE);
	KUNIT_EXPECT_EQ(test, probe.rp.maxactive, usual_calls());
	KUNIT_EXPECT_EQ(test, probe.rp.nmissed, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&probe.rp.kp.list));
}

static void K2_disabled_is_not_told(struct kunit *test)
{
	WATCH(probe, INNER, .kp.flags = KPROBE_FLAG_DISABLED);
	KUNIT_EXPECT_EQ(test, call_inner(), 1);
	EXPECT_TOLD(test, &probe, 0, 0);
	KUNIT_EXPECT_EQ(test, enable_kretprobe(&probe.rp), 0);
	call_inner();
	EXPECT_TOLD(test, &probe, 1, 1);
	KUNIT_EXPECT_EQ(test, disable_kretprobe(&probe.rp), 0);
	call_inner();
	EXPECT_TOLD(test, &probe, 1, 1);
	KUNIT_EXPECT_EQ(test, probe.rp.nmissed, 0);
}

static long disable(void *data)
{
	struct watched *probe = data;

	return disable_kretprobe(&probe->rp);
}

/* A call that began before is watched to its end. */
static void K2_disabled_within_a_call(struct kunit *test)
{
	WATCH(probe, INNER);
	KUNIT_EXPECT_EQ(test, kprobes_returns_inner(disable, &probe), 1);
	EXPECT_TOLD(test, &probe, 1, 1);
	call_inner();
	EXPECT_TOLD(test, &probe, 1, 1);
}

static void K2_registered_again_after_a_reset(struct kunit *test)
{
	struct watched probe = WATCHED(INNER);
	int n;

	for (n = 0; n < 3; n++) {
		watched_anew(&probe);
		KUNIT_ASSERT_EQ(test, register_kretprobe(&probe.rp), 0);
		call_inner();
		unregister_kretprobe(&probe.rp);
		EXPECT_TOLD(test, &probe, 1, 1);
		call_inner();
		EXPECT_TOLD(test, &probe, 1, 1);
	}
}

static struct kunit_case returns_register_cases[] = {
	KUNIT_CASE(K1_by_rethook),
	KUNIT_CASE(M1_layout_of_return_probes),
	KUNIT_CASE(K2_neither_symbol_nor_address),
	KUNIT_CASE(K2_symbol_and_address),
	KUNIT_CASE(K2_unknown_symbol),
	KUNIT_CASE(K2_address_without_symbol),
	KUNIT_CASE(K2_on_an_entry_alone),
	KUNIT_CASE(K2_by_address),
	KUNIT_CASE(K2_registered_already),
	KUNIT_CASE(K2_not_where_tasks_are_switched),
	KUNIT_CASE(K2_data_is_bounded),
	KUNIT_CASE(K2_calls_are_bounded),
	KUNIT_CASE(K2_how_many_calls_is_told),
	KUNIT_CASE(K2_usual_number_of_calls),
	KUNIT_CASE(K2_nmissed_starts_at_zero),
	KUNIT_CASE(K2_no_handlers),
	KUNIT_CASE(K2_either_handler_alone),
	KUNIT_CASE(K2_handlers_of_the_entry_are_replaced),
	KUNIT_CASE(K2_refused_where_no_probe_may_be),
	KUNIT_CASE(K2_disabled_is_not_told),
	KUNIT_CASE(K2_disabled_within_a_call),
	KUNIT_CASE(K2_registered_again_after_a_reset),
	{}
};

CLAUSES_SUITE(clauses_returns_register, returns_register_cases, WITH_STORES);
