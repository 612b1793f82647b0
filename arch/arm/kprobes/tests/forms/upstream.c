// SPDX-License-Identifier: GPL-2.0
/*
 * Runs upstream's suite of arm's kprobes, arch/arm/probes/kprobes/test-*.c, and
 * tells of each of its cases. The suite reads the tables of C's decoder, of which
 * it has a copy here, and fails if an entry of them has no case.
 */
#include <kunit/test.h>
#include <linux/ctype.h>
#include <linux/module.h>

/* The whole suite is the function for late_initcall(), which runs once more. */
#undef __init
#define __init
#undef late_initcall
#define late_initcall(function)

/* Assembly calls the function of this name, which here is the one below. */
#define kprobes_test_case_end upstreams_case_end
#include <kprobes/test-core.c>
#undef kprobes_test_case_end

static struct outcome {
	const char *title;
	bool failed;
} outcomes[2048];

static uintptr_t __used kprobes_test_case_end(void)
{
	int number = test_try_count - 1, failed = test_fail_count;
	uintptr_t next = upstreams_case_end();

	if (!next && number < ARRAY_SIZE(outcomes)) {
		outcomes[number].title = current_title;
		outcomes[number].failed = test_fail_count > failed;
		/* A guest that says nothing for minutes is taken for dead. */
		if (test_try_count % 100 == 0)
			pr_info("upstream: %d cases\n", test_try_count);
	}
	return next;
}

static int run_upstreams(struct kunit_suite *suite)
{
	run_all_tests();
	return 0;
}

/* A title without spaces, and what KTAP has for itself; of words, their digits. */
static void write_name(char *name, const char *title)
{
	char *end = name + KUNIT_PARAM_DESC_SIZE - 1;

	if (*title == '.') {
		strscpy(name, strstr(title, "0x"), 11);
		name[strspn(name, "0x123456789abcdef")] = '\0';
		return;
	}
	for (; *title && name < end; title++) {
		if (isspace(*title) && !isspace(title[1]))
			*name++ = '_';
		else if (!isspace(*title) && !strchr("#{},", *title))
			*name++ = *title;
	}
	*name = '\0';
}

static const void *next_outcome(struct kunit *test, const void *previous, char *name)
{
	const struct outcome *next = previous ? previous : outcomes - 1;

	if (++next == outcomes + ARRAY_SIZE(outcomes) || !next->title)
		return NULL;
	write_name(name, next->title);
	return next;
}

#ifdef CONFIG_THUMB2_KERNEL
static void api(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, run_api_tests(thumb16_func), 0);
	KUNIT_EXPECT_EQ(test, run_api_tests(thumb32even_func), 0);
	KUNIT_EXPECT_EQ(test, run_api_tests(thumb32odd_func), 0);
}

static void tables(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, table_test(probes_decode_thumb16_table), 0);
	KUNIT_EXPECT_EQ(test, table_test(probes_decode_thumb32_table), 0);
}
#else
static void api(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, run_api_tests(arm_func), 0);
}

static void tables(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, table_test(probes_decode_arm_table), 0);
}
#endif

static void coverage_is_whole(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, coverage_fail);
}

static void insn(struct kunit *test)
{
	const struct outcome *outcome = test->param_value;

	KUNIT_EXPECT_FALSE_MSG(test, outcome->failed, "see FAIL above");
}

static struct kunit_case upstream_cases[] = {
	KUNIT_CASE(api),
	KUNIT_CASE(tables),
	KUNIT_CASE(coverage_is_whole),
	KUNIT_CASE_PARAM(insn, next_outcome),
	{}
};

static struct kunit_suite upstream_suite = {
	.name = "upstream",
	.suite_init = run_upstreams,
	.test_cases = upstream_cases,
};

kunit_test_suite(upstream_suite);
