// SPDX-License-Identifier: GPL-2.0
/*
 * One KUnit case per clause of the behaviour that clients of <linux/kprobes.h>
 * rely on, over whichever implementation is built in. A case is named by its
 * clause. An implementation that cannot register probes yet answers
 * -EOPNOTSUPP; the cases that need a registered probe are then skipped.
 */
#include <kunit/test.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/string.h>

#define NOT_THERE_YET "register_kprobe answers EOPNOTSUPP until breakpoints land"

static int hits;

noinline int kprobes_clauses_target(int value);
noinline int kprobes_clauses_target(int value)
{
	/* The compiler must not see through a call of it. */
	barrier();
	return value + 1;
}

static int (*call_target)(int value) = kprobes_clauses_target;

static int count_hit(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static void after_hit(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static int clauses_init(struct kunit *test)
{
	hits = 0;
	return 0;
}

/* Registers @p, or skips the case where registration is not there at all. */
static int must_register(struct kunit *test, struct kprobe *p)
{
	int err = register_kprobe(p);

	if (err == -EOPNOTSUPP)
		kunit_skip(test, NOT_THERE_YET);
	return err;
}

static void R1_1_symbol_and_address(struct kunit *test)
{
	struct kprobe p = {
		.symbol_name = "kprobes_clauses_target",
		.addr = (kprobe_opcode_t *)kprobes_clauses_target,
	};

	KUNIT_EXPECT_EQ(test, register_kprobe(&p), -EINVAL);
}

static void R1_1_neither_symbol_nor_address(struct kunit *test)
{
	struct kprobe p = {};

	KUNIT_EXPECT_EQ(test, register_kprobe(&p), -EINVAL);
}

static void R1_2_unknown_symbol(struct kunit *test)
{
	struct kprobe p = { .symbol_name = "kprobes_clauses_no_such_symbol" };

	KUNIT_EXPECT_EQ(test, must_register(test, &p), -ENOENT);
}

static void R1_10_blacklisted(struct kunit *test)
{
	struct kprobe p = { .symbol_name = "get_kprobe" };

	KUNIT_EXPECT_EQ(test, must_register(test, &p), -EINVAL);
}

static void R2_no_handlers(struct kunit *test)
{
	struct kprobe p = { .symbol_name = "kprobes_clauses_target" };

	KUNIT_ASSERT_EQ(test, must_register(test, &p), 0);
	KUNIT_EXPECT_EQ(test, call_target(1), 2);
	unregister_kprobe(&p);
}

static void R5_newest_first_and_both_hit(struct kunit *test)
{
	struct kprobe p = {
		.symbol_name = "kprobes_clauses_target",
		.pre_handler = count_hit,
	};
	struct kprobe q = p;

	KUNIT_ASSERT_EQ(test, must_register(test, &p), 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&q), 0);
	call_target(1);
	KUNIT_EXPECT_EQ(test, hits, 2);
	unregister_kprobe(&q);
	call_target(1);
	KUNIT_EXPECT_EQ(test, hits, 3);
	unregister_kprobe(&p);
	call_target(1);
	KUNIT_EXPECT_EQ(test, hits, 3);
}

static void R6_disable_unknown(struct kunit *test)
{
	struct kprobe p = { .addr = (kprobe_opcode_t *)kprobes_clauses_target };

	KUNIT_EXPECT_EQ(test, disable_kprobe(&p), -EINVAL);
}

static void R6_disable_and_enable(struct kunit *test)
{
	struct kprobe p = {
		.symbol_name = "kprobes_clauses_target",
		.pre_handler = count_hit,
		.flags = KPROBE_FLAG_DISABLED,
	};

	KUNIT_ASSERT_EQ(test, must_register(test, &p), 0);
	call_target(1);
	KUNIT_EXPECT_EQ(test, hits, 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&p), 0);
	call_target(1);
	KUNIT_EXPECT_EQ(test, hits, 1);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&p), 0);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&p), 0);
	call_target(1);
	KUNIT_EXPECT_EQ(test, hits, 1);
	unregister_kprobe(&p);
}

static void R7_enable_unknown(struct kunit *test)
{
	struct kprobe p = { .addr = (kprobe_opcode_t *)kprobes_clauses_target };

	KUNIT_EXPECT_EQ(test, enable_kprobe(&p), -EINVAL);
}

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
	struct kprobe good = {
		.symbol_name = "kprobes_clauses_target",
		.pre_handler = count_hit,
	};
	struct kprobe bad = { .symbol_name = "kprobes_clauses_no_such_symbol" };
	struct kprobe *batch[] = { &good, &bad };
	int err = register_kprobes(batch, ARRAY_SIZE(batch));

	if (err == -EOPNOTSUPP)
		kunit_skip(test, NOT_THERE_YET);
	KUNIT_EXPECT_EQ(test, err, -ENOENT);
	call_target(1);
	KUNIT_EXPECT_EQ(test, hits, 0);
}

#if defined(CONFIG_KPROBES_ON_FTRACE) && defined(CONFIG_X86_64)
static void D1_ftrace_cb(unsigned long ip, unsigned long parent,
			 struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
}

/* A probe that could not be armed must not look registered. */
static void D1_failed_arming_is_reported(struct kunit *test)
{
	static struct ftrace_ops owner = {
		.func = D1_ftrace_cb,
		.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY,
	};
	struct kprobe p = {
		.symbol_name = "kprobes_clauses_target",
		.post_handler = after_hit,
	};
	int err;

	KUNIT_ASSERT_EQ(test, ftrace_set_filter(&owner, "kprobes_clauses_target",
						strlen("kprobes_clauses_target"), 1), 0);
	KUNIT_ASSERT_EQ(test, register_ftrace_function(&owner), 0);
	err = register_kprobe(&p);
	if (!err)
		unregister_kprobe(&p);
	unregister_ftrace_function(&owner);
	ftrace_free_filter(&owner);
	if (err == -EOPNOTSUPP)
		kunit_skip(test, NOT_THERE_YET);
	KUNIT_EXPECT_NE(test, err, 0);
}
#endif

static struct kunit_case clauses_cases[] = {
	KUNIT_CASE(R1_1_symbol_and_address),
	KUNIT_CASE(R1_1_neither_symbol_nor_address),
	KUNIT_CASE(R1_2_unknown_symbol),
	KUNIT_CASE(R1_10_blacklisted),
	KUNIT_CASE(R2_no_handlers),
	KUNIT_CASE(R5_newest_first_and_both_hit),
	KUNIT_CASE(R6_disable_unknown),
	KUNIT_CASE(R6_disable_and_enable),
	KUNIT_CASE(R7_enable_unknown),
	KUNIT_CASE(R9_empty_batch),
	KUNIT_CASE(R9_first_error_undoes_the_batch),
#if defined(CONFIG_KPROBES_ON_FTRACE) && defined(CONFIG_X86_64)
	KUNIT_CASE(D1_failed_arming_is_reported),
#endif
	{}
};

static struct kunit_suite clauses_suite = {
	.name = "clauses",
	.init = clauses_init,
	.test_cases = clauses_cases,
};

kunit_test_suite(clauses_suite);

MODULE_DESCRIPTION("Clauses of the kprobes interface, one KUnit case each");
MODULE_LICENSE("GPL");
