// SPDX-License-Identifier: GPL-2.0
/*
 * What may become a jump, and what stays a breakpoint: one function for each of
 * the rules. The same places are probed for who looks at the files in debugfs.
 */
#include <linux/jump_label.h>
#include <linux/module.h>
#include "jumps.h"

/*
 * With IBT each place that an indirect jump leads to has a mark. With retpolines
 * it may be a computed goto, which C does not look for.
 */
#define MARKED		IS_ENABLED(CONFIG_X86_KERNEL_IBT)
#define RETPOLINES	IS_ENABLED(CONFIG_MITIGATION_RETPOLINE)
#define BUILT_SO	(MARKED || (RETPOLINES &&			\
				    !IS_ENABLED(CONFIG_RUST_KPROBES)))

DEFINE_STATIC_KEY_FALSE(optimize_key);

struct place {
	const char *name;
	const u8 *function;
	const u8 *from;	/* what it is counted from, if not that */
	int offset;
	bool may;
	int hits;	/* in each call, if not once */
	int reason;	/* of Rust's, if it may not */
};

/* Only Rust's tells. */
#ifdef CONFIG_RUST_KPROBES_JUMPS
#define REASON(name)	.reason = KPROBE_NO_JUMP_##name
#else
#define REASON(...)	.reason = 0
#endif

#define PLACE_AT(symbol, bytes)						\
	.name = #symbol, .function = optimize_##symbol,			\
	.offset = MARK_BYTES + (bytes)

static const struct place places[] = {
	{
		.name = "near_end", .function = optimize_near_end,
		.from = optimize_near_end_next, .offset = -2, REASON(NEAR_END)
	},
	{ PLACE_AT(into, 0), REASON(LOCAL_BRANCH) },
	{ PLACE_AT(behind, 0), .may = true },
	{ PLACE_AT(indirect_jump, 0), .may = BUILT_SO, REASON(INDIRECT_JUMP) },
	{ PLACE_AT(fault_inside, 0), REASON(MAY_FAULT) },
	{ PLACE_AT(fixup_inside, 0), REASON(FIXUP_TARGET) },
	{ PLACE_AT(fault_elsewhere, 0), .may = true },
	{ PLACE_AT(label, 0), REASON(JUMP_LABEL) },
	/* What is relative to where it stands means the same in the detour. */
	{ PLACE_AT(rip, 0), .may = true },
	{ PLACE_AT(call, 0), .may = true },
	{ PLACE_AT(indirect_call, 7), REASON(INDIRECT_CALL) },
	{ PLACE_AT(branch, 0), .may = true },
	{ PLACE_AT(jump, 0), .may = true },
	{ PLACE_AT(ud2, 3), REASON(CANNOT_MOVE) },
	{ PLACE_AT(int3, 3), REASON(CANNOT_MOVE) },
	{ PLACE_AT(loop, 8), .hits = 5, REASON(SHORT_LOOP) },
	{ PLACE_AT(landing_pad, 0), REASON(LANDING_PAD) },
};

#define RULES	ARRAY_SIZE(places)

KUNIT_ARRAY_PARAM_DESC(places, places, name);

static const u8 *where_is(const struct place *place)
{
	return hidden(place->from ?: place->function) + place->offset;
}

/* The client learns why. */
static void says_why(struct kunit *test, const struct place *place,
		     struct kprobe *kp)
{
#ifdef CONFIG_RUST_KPROBES_JUMPS
	struct kprobe_no_jump why = {};

	KUNIT_EXPECT_EQ(test, kprobe_why_no_jump(kp, &why), !place->may);
	if (!place->may) {
		KUNIT_EXPECT_EQ(test, why.reason, place->reason);
		KUNIT_EXPECT_NOT_NULL(test, why.text);
	}
#endif
}

/* Whatever there is, the place works, and is a jump if it may be. */
static void O5_what_may_be_a_jump(struct kunit *test)
{
	const struct place *place = test->param_value;
	const u8 *at = where_is(place);
	int hits = place->hits ?: 1;
	u8 before[BYTES];

	memcpy(before, at, BYTES);
	PROBE_IN(probe, at);
	KUNIT_EXPECT_EQ(test, call(place->function, 1), 6);
	KUNIT_EXPECT_TRUE(test, optimizer_was_here(test));
	KUNIT_EXPECT_EQ(test, opcode_byte(at),
			place->may ? JMP32_INSN_OPCODE : INT3_INSN_OPCODE);
	says_why(test, place, &probe.kp);
	KUNIT_EXPECT_EQ(test, call(place->function, 1), 6);
	KUNIT_EXPECT_EQ(test, call(place->function, 0), 5);
	KUNIT_EXPECT_EQ(test, call(place->function, -3), 2);
	KUNIT_EXPECT_EQ(test, probe.before, 4 * hits);
	take_out(&probe);
	KUNIT_EXPECT_TRUE(test, is_restored(at, before));
}

#ifdef CONFIG_RUST_KPROBES_JUMPS
/* What may change, and who may not ask. */
static void O5_a_client_learns_why_there_is_no_jump(struct kunit *test)
{
	struct counted stranger = COUNTED_IN(PLAIN);
	struct kprobe_no_jump why = {};

	KUNIT_EXPECT_EQ(test, kprobe_why_no_jump(&stranger.kp, &why), -EINVAL);
	PROBE_IN(inside, PLAIN + INSIDE, AFTER);
	PROBE_IN(probe, PLAIN);
	KUNIT_EXPECT_EQ(test, kprobe_why_no_jump(&inside.kp, &why), 1);
	KUNIT_EXPECT_EQ(test, why.reason, KPROBE_NO_JUMP_POST_HANDLER);
	KUNIT_EXPECT_EQ(test, why.at, 0);
	KUNIT_EXPECT_EQ(test, kprobe_why_no_jump(&probe.kp, &why), 1);
	KUNIT_EXPECT_EQ(test, why.reason, KPROBE_NO_JUMP_PROBE_INSIDE);
	/* So that who asks may have 0 mean that there is none. */
	BUILD_BUG_ON(!KPROBE_NO_JUMP_NEAR_END);
	KUNIT_EXPECT_PTR_EQ(test, (u8 *)why.at, PLAIN + INSIDE);
	KUNIT_EXPECT_STREQ(test, why.text,
			   "another probe is in the bytes of the jump");
	/* There are probes at its address, but it is none of them. */
	KUNIT_EXPECT_EQ(test, kprobe_why_no_jump(&stranger.kp, &why), -EINVAL);
	/* One that rests costs nothing. */
	why = (struct kprobe_no_jump){};
	KUNIT_EXPECT_EQ(test, disable_kprobe(&inside.kp), 0);
	KUNIT_EXPECT_EQ(test, kprobe_why_no_jump(&inside.kp, &why), 0);
	KUNIT_EXPECT_EQ(test, kprobe_why_no_jump(&probe.kp, &why), 0);
	KUNIT_EXPECT_EQ(test, why.reason, 0);
	KUNIT_EXPECT_NULL(test, why.text);
	take_out(&inside);
	take_out(&probe);
	KUNIT_EXPECT_EQ(test, kprobe_why_no_jump(&probe.kp, &why), -EINVAL);
}
#endif

/* It is a NOP first, and works when it is a jump, too. */
static void O5_jump_label_in_the_region(struct kunit *test)
{
	PROBE_IN(probe, PLACE(label));
	KUNIT_EXPECT_TRUE(test, optimizer_was_here(test));
	static_branch_enable(&optimize_key);
	KUNIT_EXPECT_EQ(test, call(optimize_label, 1), 106);
	static_branch_disable(&optimize_key);
	KUNIT_EXPECT_EQ(test, call(optimize_label, 1), 6);
	KUNIT_EXPECT_EQ(test, probe.before, 2);
}

/* Probes at all of these for who looks at the files in debugfs. */
static struct counted at_places[RULES + 1];

static int set_places(const char *text, const struct kernel_param *param)
{
	struct kprobe *batch[ARRAY_SIZE(at_places)];
	int n;

	for (n = 0; n < ARRAY_SIZE(at_places); n++)
		batch[n] = &at_places[n].kp;
	if (sysfs_streq(text, "unregister")) {
		unregister_kprobes(batch, ARRAY_SIZE(at_places));
		return 0;
	}
	if (!sysfs_streq(text, "register"))
		return -EINVAL;
	for (n = 0; n < RULES; n++)
		at_places[n] = COUNTED_IN(where_is(&places[n]));
	at_places[RULES] = COUNTED_IN(PLAIN);
	return register_kprobes(batch, ARRAY_SIZE(at_places));
}

/* What is in the text: a breakpoint, a jump, or neither. */
static int get_places(char *text, const struct kernel_param *param)
{
	int n, len = 0;

	for (n = 0; n <= RULES; n++) {
		const u8 *at = n < RULES ? where_is(&places[n]) : PLAIN;

		len += sysfs_emit_at(text, len, "%s %s\n",
				     n < RULES ? places[n].name : "plain",
				     IS_BREAKPOINT(at) ? "breakpoint" :
				     IS_JUMP(at) ? "jump" : "none");
	}
	return len;
}

static const struct kernel_param_ops places_ops = { .set = set_places, .get = get_places };
module_param_cb(places, &places_ops, NULL, 0600);

static struct kunit_case optimize_rules_cases[] = {
	KUNIT_CASE_PARAM(O5_what_may_be_a_jump, places_gen_params),
#ifdef CONFIG_RUST_KPROBES_JUMPS
	KUNIT_CASE(O5_a_client_learns_why_there_is_no_jump),
#endif
	KUNIT_CASE(O5_jump_label_in_the_region),
	{}
};

CLAUSES_SUITE(clauses_optimize_rules, optimize_rules_cases, WITH_SWITCH);
