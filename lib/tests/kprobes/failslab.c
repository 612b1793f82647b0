// SPDX-License-Identifier: GPL-2.0
/*
 * What is done while allocations fail, each of them in its turn: the first
 * one, the second one, and so on, until so many are not asked for.
 *
 * Kernels that can do so have it in debugfs, too, that allocations which may
 * wait are to fail as well; the guest's job has said so.
 */
#include <linux/reboot.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "step.h"

/*
 * So many places are probed all the time, and so many more come and go. With
 * these the table gets a larger array, and the copies another page.
 */
#define STAYING		43
#define COMING		28

/* The others: through ftrace, stepped, more than one at a place. */
#define OTHERS		9
#define ALL		(OTHERS + COMING)

/* No registration asks for as many allocations. */
#define ENDLESS		4000

struct everything {
	struct counted staying[STAYING];
	struct counted coming[ALL];
	struct kprobe *batch[ALL];
	u8 row[ROW_BYTES];
	u8 text[5][BYTES];
};

static const void *place(int number)
{
	const void *const places[] = {
		kprobes_clauses_target, kprobes_clauses_other, kernel_restart,
		clauses_move_site, clauses_rip_site,
	};

	return places[number];
}

/*
 * Is all text as it was before the probes came? One that is still registered
 * makes the next turn fail, as it cannot be so twice.
 */
static bool as_before(struct kunit *test, struct everything *all)
{
	bool same = !memcmp(all->row, clauses_row_begin, ROW_BYTES);
	int n;

	KUNIT_EXPECT_TRUE(test, same);
	for (n = 0; n < ARRAY_SIZE(all->text); n++) {
		if (!memcmp(all->text[n], place(n), BYTES))
			continue;
		KUNIT_FAIL(test, "%pS has changed", place(n));
		same = false;
	}
	return same;
}

/* The probes that come and go, as their client makes them. */
static void make_anew(struct everything *all, u32 flags)
{
	struct counted *probe = all->coming;
	int n;

	*probe++ = COUNTED_AT(TARGET);
	*probe++ = COUNTED_AT(TARGET);
	*probe++ = COUNTED_AT(OTHER, AFTER);
	*probe++ = COUNTED_AT("kernel_restart");
	/* Behind the room for the call of ftrace. */
	*probe++ = COUNTED_AT("kernel_restart",
			      .offset = MARK_BYTES + CALL_BYTES);
	*probe++ = COUNTED_IN(clauses_move_site);
	*probe++ = COUNTED_IN(clauses_move_site, AFTER);
	*probe++ = COUNTED_IN(clauses_rip_site);
	*probe++ = COUNTED_IN(row_site(0));
	for (n = 0; n < COMING; n++)
		*probe++ = COUNTED_IN(row_site(STAYING + n));
	for (n = 0; n < ALL; n++) {
		all->coming[n].kp.flags = flags;
		all->batch[n] = &all->coming[n].kp;
	}
}

/* Whether so many allocations were asked for: the last of them has failed. */
static bool failing(unsigned int number, int (*what)(struct everything *all),
		    struct everything *all, int *err)
{
#ifdef CONFIG_FAULT_INJECTION
	bool failed;

	/* A sign of life; the guest must not be silent for long. */
	if (!(number % 32))
		pr_info("failslab: allocation %u fails\n", number);
	current->fail_nth = number;
	*err = what(all);
	failed = !current->fail_nth;
	current->fail_nth = 0;
	return failed;
#else
	*err = what(all);
	return false;
#endif
}

static int register_them(struct everything *all)
{
	return register_kprobes(all->batch, ALL);
}

static int unregister_them(struct everything *all)
{
	unregister_kprobes(all->batch, ALL);
	return 0;
}

/* Those on ftrace's places may have to be told no. */
static int enable_them(struct everything *all)
{
	int n, err = 0;

	for (n = 0; n < ALL; n++) {
		if (enable_kprobe(all->batch[n]))
			err = err ?: n + 1;
	}
	return err;
}

/* Calls all that is probed, but for what nobody may call. */
static void call_them(void)
{
	clauses_call(1);
	clauses_call_other(1);
	clauses_move(1);
	clauses_rip(1);
	clauses_row();
}

/* How many of the probes that come and go have been called so often. */
static int called(struct everything *all, int count)
{
	int n, found = 0;

	for (n = 0; n < ALL; n++)
		found += all->coming[n].before == count;
	return found;
}

/* On kernel_restart() there are two. */
#define CALLED		(ALL - 2)

static struct everything *begin(struct kunit *test)
{
	struct everything *all;
	int n;

	if (!IS_ENABLED(CONFIG_FAILSLAB))
		kunit_skip(test, "no CONFIG_FAILSLAB: no allocation can fail");
	if (!IS_ENABLED(CONFIG_X86) && IS_ENABLED(CONFIG_KPROBES_C))
		kunit_skip(test, "C leaves a jump, or a probe that ftrace cannot let go");
	all = kunit_kzalloc(test, sizeof(*all), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, all);
	test->priv = all;
	make_anew(all, 0);
	for (n = 0; n < STAYING; n++) {
		/* It stays a breakpoint: the text is compared. */
		all->staying[n] = COUNTED_IN(row_site(n), AFTER);
		KUNIT_ASSERT_EQ(test, register_kprobe(&all->staying[n].kp), 0);
	}
	memcpy(all->row, clauses_row_begin, ROW_BYTES);
	for (n = 0; n < ARRAY_SIZE(all->text); n++)
		memcpy(all->text[n], place(n), BYTES);
	return all;
}

/* Each number but the last was that of an allocation that failed. */
static void end(struct kunit *test, struct everything *all, int number)
{
	int n;

	KUNIT_EXPECT_LT(test, number, ENDLESS);
	kunit_info(test, "%d allocations failed\n", number - 1);
	clauses_row();
	for (n = 0; n < STAYING; n++)
		KUNIT_EXPECT_GT(test, all->staying[n].before, 0);
}

/* Whatever has become of the case. */
static void take_all(struct kunit *test)
{
	struct everything *all = test->priv;
	int n;

	if (!all)
		return;
	for (n = 0; n < STAYING; n++)
		unregister_kprobe(&all->staying[n].kp);
	unregister_them(all);
}

static void R9_without_memory_nothing_is_left(struct kunit *test)
{
	struct everything *all = begin(test);
	int number, err, refused = 0;
	bool asked;

	for (number = 1; number < ENDLESS; number++) {
		make_anew(all, 0);
		asked = failing(number, register_them, all, &err);
		refused += !!err;
		if (err) {
			KUNIT_EXPECT_EQ(test, err, -ENOMEM);
			KUNIT_EXPECT_TRUE(test, asked);
			call_them();
			KUNIT_EXPECT_EQ(test, called(all, 0), ALL);
		} else {
			call_them();
			KUNIT_EXPECT_EQ(test, called(all, 1), CALLED);
			unregister_them(all);
		}
		if (!as_before(test, all) || !asked)
			break;
	}
	/* Of each probe in the batch at least its place is in memory. */
	KUNIT_EXPECT_GT(test, refused, COMING);
	kunit_info(test, "%d registrations were refused\n", refused);
	end(test, all, number);
}

static void R8_unregistering_needs_no_memory(struct kunit *test)
{
	struct everything *all = begin(test);
	int number, err;
	bool asked;

	for (number = 1; number < ENDLESS; number++) {
		make_anew(all, 0);
		KUNIT_ASSERT_EQ(test, register_them(all), 0);
		asked = failing(number, unregister_them, all, &err);
		call_them();
		KUNIT_EXPECT_EQ(test, called(all, 0), ALL);
		if (!as_before(test, all) || !asked)
			break;
	}
	end(test, all, number);
}

static void R7_enabling_needs_no_memory(struct kunit *test)
{
	struct everything *all = begin(test);
	int number, err, n;
	bool asked;

	for (number = 1; number < ENDLESS; number++) {
		make_anew(all, KPROBE_FLAG_DISABLED);
		KUNIT_ASSERT_EQ(test, register_them(all), 0);
		asked = failing(number, enable_them, all, &err);
		for (n = 0; n < ALL; n++) {
			struct kprobe *kp = all->batch[n];

			/* It says what it is, and ftrace alone asks for memory. */
			if (kprobe_disabled(kp)) {
				KUNIT_EXPECT_NE(test, err, 0);
				KUNIT_EXPECT_TRUE(test, kprobe_ftrace(kp));
				KUNIT_EXPECT_EQ(test, enable_kprobe(kp), 0);
			}
		}
		call_them();
		KUNIT_EXPECT_EQ(test, called(all, 1), CALLED);
		unregister_them(all);
		if (!as_before(test, all) || !asked)
			break;
	}
	end(test, all, number);
}

static struct kunit_case failslab_cases[] = {
	KUNIT_CASE_SLOW(R9_without_memory_nothing_is_left),
	KUNIT_CASE_SLOW(R8_unregistering_needs_no_memory),
	KUNIT_CASE_SLOW(R7_enabling_needs_no_memory),
	{}
};

CLAUSES_SUITE(clauses_failslab, failslab_cases, .exit = take_all);
