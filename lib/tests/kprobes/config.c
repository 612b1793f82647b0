// SPDX-License-Identifier: GPL-2.0
/*
 * The configuration: what kprobes need, and what is there along with them,
 * whichever implementation is chosen.
 */
#include "clauses.h"

static void U9_what_kprobes_need_is_selected(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, IS_ENABLED(CONFIG_KALLSYMS));
	KUNIT_EXPECT_TRUE(test, IS_ENABLED(CONFIG_EXECMEM));
	KUNIT_EXPECT_TRUE(test, IS_ENABLED(CONFIG_NEED_TASKS_RCU));
	KUNIT_EXPECT_EQ(test, IS_ENABLED(CONFIG_KPROBES_C),
			!IS_ENABLED(CONFIG_RUST_KPROBES));
}

/* Nobody is asked about these: clients look at them when they are compiled. */
static void U9_what_comes_with_kprobes(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, IS_ENABLED(CONFIG_OPTPROBES),
			IS_ENABLED(CONFIG_HAVE_OPTPROBES) &&
			(IS_ENABLED(CONFIG_KPROBES_C) ||
			 IS_ENABLED(CONFIG_RUST_KPROBES_JUMPS)));
	KUNIT_EXPECT_EQ(test, IS_ENABLED(CONFIG_KPROBES_ON_FTRACE),
			IS_ENABLED(CONFIG_HAVE_KPROBES_ON_FTRACE) &&
			IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_REGS));
	KUNIT_EXPECT_EQ(test, IS_ENABLED(CONFIG_KRETPROBES),
			IS_ENABLED(CONFIG_HAVE_KRETPROBES) ||
			IS_ENABLED(CONFIG_HAVE_RETHOOK));
	KUNIT_EXPECT_EQ(test, IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK),
			IS_ENABLED(CONFIG_HAVE_RETHOOK));
}

static struct kunit_case config_cases[] = {
	KUNIT_CASE(U9_what_kprobes_need_is_selected),
	KUNIT_CASE(U9_what_comes_with_kprobes),
	{}
};

CLAUSES_SUITE(clauses_config, config_cases);
