// SPDX-License-Identifier: GPL-2.0
/*
 * Jumps in the place of breakpoints, as a client sees them: in the text, in
 * what handlers are shown, and by the switch. Here is when they come and go;
 * optimize_rules.c has what may become one, optimize_hits.c the hits,
 * and optimize_tasks.c what is done at the same time.
 */
#include <linux/fs.h>
#include <linux/uaccess.h>
#include "optimize.h"

u8 opcode_byte(const u8 *at)
{
	u8 byte = 0;

	return copy_from_kernel_nofault(&byte, at + OPCODE_BYTE, 1) ? 0 : byte;
}

/* C takes jumps out later. */
bool is_restored(const u8 *at, const u8 *before)
{
	if (IS_ENABLED(CONFIG_RUST_KPROBES))
		return !memcmp(at, before, BYTES);
	return COMES_TRUE(!memcmp(at, before, BYTES));
}

bool optimizer_was_here(struct kunit *test)
{
	struct counted probe = COUNTED_IN(THIRD);
	u8 third[BYTES];
	bool was;

	memcpy(third, THIRD, BYTES);
	KUNIT_ASSERT_EQ(test, register_kprobe(&probe.kp), 0);
	was = becomes_a_jump(THIRD);
	unregister_kprobe(&probe.kp);
	return is_restored(THIRD, third) && was;
}

/* debug.kprobes-optimization: opened by who loads us, as cases see no files. */
static struct file *the_switch;

int open_switch(struct kunit_suite *suite)
{
	the_switch = filp_open("/proc/sys/debug/kprobes-optimization", O_RDWR,
			       0);
	return PTR_ERR_OR_ZERO(the_switch);
}

void close_switch(struct kunit_suite *suite)
{
	if (!IS_ERR(the_switch))
		filp_close(the_switch, NULL);
}

int say(const char *text)
{
	loff_t position = 0;
	ssize_t written = kernel_write(the_switch, text, strlen(text),
				       &position);

	return written == strlen(text) ? 0 : (int)written;
}

static bool says(const char *text)
{
	char buffer[8] = {};
	loff_t position = 0;

	return kernel_read(the_switch, buffer, sizeof(buffer) - 1,
			   &position) > 0 && !strcmp(buffer, text);
}

/* What is at PLAIN before a case. */
static u8 before[BYTES] __aligned(sizeof(kprobe_opcode_t));

/* C takes jumps out later, which the switch waits for. */
int begin(struct kunit *test)
{
	int err = IS_ENABLED(CONFIG_KPROBES_C) ? say("0\n") ?: say("1\n") : 0;

	memcpy(before, PLAIN, BYTES);
	return err;
}

/* It does what it does, and that was so many hits by now. */
#define EXPECT_CALL(probe, hits)					\
do {									\
	KUNIT_EXPECT_EQ(test, call(optimize_plain, 1), 6);		\
	KUNIT_EXPECT_EQ(test, (probe).before, hits);			\
} while (0)

static void O1_a_probe_becomes_a_jump(struct kunit *test)
{
	PROBE_IN(probe, PLAIN);
	EXPECT_CALL(probe, 1);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
	EXPECT_CALL(probe, 2);
	take_out(&probe);
	KUNIT_EXPECT_TRUE(test, is_restored(PLAIN, before));
}

/* Also those that come while it waits, or when it has done its work. */
static void O1_later_ones_become_jumps(struct kunit *test)
{
	PROBE_IN(early, PLAIN);
	/* Less than it waits for tasks, more than it waits to begin. */
	msleep(60);
	PROBE_IN(late, SECOND);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(SECOND));
	PROBE_IN(last, THIRD);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(THIRD));
}

static int jumps_in_row(void)
{
	int n, count = 0;

	for (n = 0; n < ROW; n++)
		count += IS_JUMP(row_site(n));
	return count;
}

/* More than are written at once. */
static void O2_all_of_many_become_jumps(struct kunit *test)
{
	struct many *many = clauses_many(test);

	/* C registers one in each pass. */
	if (IS_ENABLED(CONFIG_KPROBES_C))
		say("0\n");
	KUNIT_ASSERT_EQ(test, register_kprobes(many->batch, ROW), 0);
	KUNIT_EXPECT_EQ(test, say("1\n"), 0);
	COMES_TRUE(jumps_in_row() == ROW);
	KUNIT_EXPECT_EQ(test, jumps_in_row(), ROW);
	clauses_row();
	KUNIT_EXPECT_EQ(test, clauses_hit_once(many), ROW);
	unregister_kprobes(many->batch, ROW);
	if (IS_ENABLED(CONFIG_KPROBES_C))
		COMES_TRUE(!memcmp(many->text, clauses_row_begin, ROW_BYTES));
	KUNIT_EXPECT_MEMEQ(test, many->text, clauses_row_begin, ROW_BYTES);
}

static void O3_post_handler_comes_and_goes(struct kunit *test)
{
	struct counted comes = COUNTED_IN(PLAIN, AFTER);
	int round;

	PROBE_IN(stays, PLAIN);
	for (round = 1; round <= 2; round++) {
		KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
		comes.kp.flags = 0;
		KUNIT_ASSERT_EQ(test, register_kprobe(&comes.kp), 0);
		KUNIT_EXPECT_TRUE(test, IS_BREAKPOINT(PLAIN));
		KUNIT_EXPECT_EQ(test, call(optimize_plain, 1), 6);
		EXPECT_HITS(comes, round, round);
		KUNIT_EXPECT_EQ(test, comes.ip_after, (long)PLAIN + FIRST_BYTES);
		KUNIT_EXPECT_EQ(test, stays.before, 3 * round - 2);
		KUNIT_EXPECT_TRUE(test, optimizer_was_here(test));
		KUNIT_EXPECT_TRUE(test, IS_BREAKPOINT(PLAIN));
		unregister_kprobe(&comes.kp);
		KUNIT_EXPECT_EQ(test, call(optimize_plain, 1), 6);
		KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
		EXPECT_CALL(stays, 3 * round);
		KUNIT_EXPECT_EQ(test, comes.after, round);
	}
}

#ifdef INSIDE
/* One in the bytes that the jump is over; itself it never becomes one. */
static void O3_another_place_in_the_jump(struct kunit *test)
{
	PROBE_IN(stays, PLAIN);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
	PROBE_IN(inside, PLAIN + INSIDE, AFTER);
	KUNIT_EXPECT_TRUE(test, IS_BREAKPOINT(PLAIN));
	KUNIT_EXPECT_TRUE(test, IS_BREAKPOINT(PLAIN + INSIDE));
	/* What the jump was over is there again. */
	KUNIT_EXPECT_MEMEQ(test, PLAIN + 1, before + 1, INSIDE - 1);
	EXPECT_CALL(stays, 1);
	KUNIT_EXPECT_EQ(test, inside.before, 1);
	KUNIT_EXPECT_TRUE(test, optimizer_was_here(test));
	KUNIT_EXPECT_TRUE(test, IS_BREAKPOINT(PLAIN));
	take_out(&inside);
	EXPECT_CALL(stays, 2);
	take_out(&stays);
	KUNIT_EXPECT_TRUE(test, is_restored(PLAIN, before));
}

/* When it goes, or rests, the jump comes back. */
static void O3_the_other_place_goes(struct kunit *test)
{
	bool came_back;

	PROBE_IN(stays, PLAIN);
	PROBE_IN(inside, PLAIN + INSIDE, AFTER);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&inside.kp), 0);
	came_back = becomes_a_jump(PLAIN);
	KUNIT_EXPECT_TRUE(test, came_back);
	EXPECT_CALL(stays, 1);
	KUNIT_EXPECT_EQ(test, inside.before, 0);

	KUNIT_EXPECT_EQ(test, enable_kprobe(&inside.kp), 0);
	KUNIT_EXPECT_TRUE(test, IS_BREAKPOINT(PLAIN));
	EXPECT_CALL(stays, 2);
	KUNIT_EXPECT_EQ(test, inside.before, 1);

	take_out(&inside);
	if (came_back)
		KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
	EXPECT_CALL(stays, 3);
}

/* A probe comes where another one's jump would be over it, and stays alone. */
static void O3_the_place_around_comes_later(struct kunit *test)
{
	PROBE_IN(inside, PLAIN + INSIDE, AFTER);
	PROBE_IN(around, PLAIN);
	KUNIT_EXPECT_TRUE(test, optimizer_was_here(test));
	KUNIT_EXPECT_TRUE(test, IS_BREAKPOINT(PLAIN));
	EXPECT_CALL(inside, 1);
	KUNIT_EXPECT_EQ(test, around.before, 1);
}
#endif

static void O3_disabled_and_enabled(struct kunit *test)
{
	PROBE_IN(probe, PLAIN, .flags = KPROBE_FLAG_DISABLED);
	KUNIT_EXPECT_TRUE(test, optimizer_was_here(test));
	KUNIT_EXPECT_MEMEQ(test, PLAIN, before, BYTES);

	KUNIT_EXPECT_EQ(test, enable_kprobe(&probe.kp), 0);
	KUNIT_EXPECT_EQ(test, call(optimize_plain, 1), 6);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
	EXPECT_CALL(probe, 2);

	KUNIT_EXPECT_EQ(test, disable_kprobe(&probe.kp), 0);
	KUNIT_EXPECT_EQ(test, call(optimize_plain, 1), 6);
	KUNIT_EXPECT_TRUE(test, is_restored(PLAIN, before));
	EXPECT_CALL(probe, 2);

	KUNIT_EXPECT_EQ(test, enable_kprobe(&probe.kp), 0);
	KUNIT_EXPECT_EQ(test, call(optimize_plain, 1), 6);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
	EXPECT_CALL(probe, 4);
	take_out(&probe);
	KUNIT_EXPECT_TRUE(test, is_restored(PLAIN, before));
}

/* The place stays a jump as long as any of its probes is enabled. */
static void O3_probes_share_a_jump(struct kunit *test)
{
	PROBE_IN(older, PLAIN);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
	PROBE_IN(newer, PLAIN);
	KUNIT_EXPECT_TRUE(test, IS_JUMP(PLAIN));
	EXPECT_CALL(older, 1);
	KUNIT_EXPECT_EQ(test, newer.before, 1);
	KUNIT_EXPECT_LT(test, newer.turn_before, older.turn_before);

	KUNIT_EXPECT_EQ(test, disable_kprobe(&older.kp), 0);
	KUNIT_EXPECT_TRUE(test, IS_JUMP(PLAIN));
	EXPECT_CALL(older, 1);
	KUNIT_EXPECT_EQ(test, newer.before, 2);

	KUNIT_EXPECT_EQ(test, disable_kprobe(&newer.kp), 0);
	KUNIT_EXPECT_TRUE(test, is_restored(PLAIN, before));
	take_out(&newer);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&older.kp), 0);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
	EXPECT_CALL(older, 2);
	KUNIT_EXPECT_EQ(test, newer.before, 2);
	take_out(&older);
	KUNIT_EXPECT_TRUE(test, is_restored(PLAIN, before));
}

static void O4_the_switch_takes_all_jumps_out(struct kunit *test)
{
	const u8 *const functions[] = { optimize_plain, optimize_second, optimize_third };
	struct counted probes[ARRAY_SIZE(functions)];
	int n;

	for (n = 0; n < ARRAY_SIZE(functions); n++) {
		probes[n] = COUNTED_IN(place_in(functions[n]));
		KUNIT_ASSERT_EQ(test, register_kprobe(&probes[n].kp), 0);
	}
	for (n = 0; n < ARRAY_SIZE(functions); n++)
		KUNIT_EXPECT_TRUE(test, becomes_a_jump(place_in(functions[n])));

	KUNIT_EXPECT_EQ(test, say("0\n"), 0);
	KUNIT_EXPECT_TRUE(test, says("0\n"));
	for (n = 0; n < ARRAY_SIZE(functions); n++) {
		KUNIT_EXPECT_TRUE(test, IS_BREAKPOINT(place_in(functions[n])));
		KUNIT_EXPECT_EQ(test, call(functions[n], 1), 6);
		KUNIT_EXPECT_EQ(test, probes[n].before, 1);
	}

	KUNIT_EXPECT_EQ(test, say("1\n"), 0);
	for (n = 0; n < ARRAY_SIZE(functions); n++) {
		KUNIT_EXPECT_TRUE(test, becomes_a_jump(place_in(functions[n])));
		KUNIT_EXPECT_EQ(test, call(functions[n], 1), 6);
		KUNIT_EXPECT_EQ(test, probes[n].before, 2);
		unregister_kprobe(&probes[n].kp);
	}
}

static void O4_no_jump_comes_while_it_is_off(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, say("0\n"), 0);
	PROBE_IN(probe, PLAIN);
	msleep(500);
	KUNIT_EXPECT_TRUE(test, IS_BREAKPOINT(PLAIN));
	EXPECT_CALL(probe, 1);
	KUNIT_EXPECT_EQ(test, say("1\n"), 0);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
}

static void O4_other_values_are_refused(struct kunit *test)
{
	PROBE_IN(probe, PLAIN);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
	KUNIT_EXPECT_EQ(test, say("2\n"), -EINVAL);
	KUNIT_EXPECT_EQ(test, say("-1\n"), -EINVAL);
	KUNIT_EXPECT_EQ(test, say("x\n"), -EINVAL);
	KUNIT_EXPECT_TRUE(test, IS_JUMP(PLAIN));
	KUNIT_EXPECT_TRUE(test, says("1\n"));
	/* Jumps still come. */
	KUNIT_EXPECT_TRUE(test, optimizer_was_here(test));
}

/* Those of the jump; all others are as they were. */
static void O7_only_the_bytes_of_the_jump_change(struct kunit *test)
{
	PROBE_IN(probe, PLAIN);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
	KUNIT_EXPECT_MEMNEQ(test, PLAIN, before, JUMP_BYTES);
	KUNIT_EXPECT_MEMEQ(test, PLAIN + JUMP_BYTES,
			   before + JUMP_BYTES, BYTES - JUMP_BYTES);
	KUNIT_EXPECT_EQ(test, probe.kp.opcode,
			*(const kprobe_opcode_t *)before);
	take_out(&probe);
	KUNIT_EXPECT_TRUE(test, is_restored(PLAIN, before));
	KUNIT_EXPECT_MEMEQ(test, PLAIN, before, BYTES);
}

/* Who reads text for its instructions sees through the jump. */
static void O7_boundaries_behind_jumps(struct kunit *test)
{
	int offset, calls = 0;

	PROBE_IN(probe, PLAIN);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
	for (offset = 1; offset < BEHIND_BYTES; offset++) {
		/* One that would take it out. */
		if (offset == FIRST_BYTES)
			continue;
		REFUSED_IN(-INSIDE_ERRNO, PLAIN + offset, AFTER);
		KUNIT_EXPECT_TRUE(test, IS_JUMP(PLAIN));
		KUNIT_EXPECT_EQ(test, call(optimize_plain, 1), 6);
		calls++;
	}
	PROBE_IN(next, PLAIN + BEHIND_BYTES, AFTER);
	KUNIT_EXPECT_TRUE(test, IS_JUMP(PLAIN));
	EXPECT_CALL(next, 1);
	KUNIT_EXPECT_EQ(test, probe.before, calls + 1);
}

#ifdef ANOTHER_JUMP
/* Who decides about it decodes what is under the first one. */
static void O7_another_jump_in_the_function(struct kunit *test)
{
	PROBE_IN(probe, PLAIN);
	PROBE_IN(second, SECOND + ANOTHER_JUMP);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(SECOND + ANOTHER_JUMP));
	PROBE_IN(after, PLAIN + ANOTHER_JUMP);
	PROBE_IN(ahead, SECOND);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN + ANOTHER_JUMP));
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(SECOND));
	EXPECT_CALL(after, 1);
	KUNIT_EXPECT_EQ(test, call(optimize_second, 1), 6);
	EXPECT_HITS(ahead, 1, 0);
}
#endif

static struct pt_regs kept;

static int change(struct kprobe *kp, struct pt_regs *regs)
{
	kept = *regs;
	SP_OF(regs) -= SP_MOVE;
	MASK_OF(regs) ^= MASK_BITS;
	return clauses_before(kp, regs);
}

static int change_back(struct kprobe *kp, struct pt_regs *regs)
{
	bool both = SP_OF(&kept) - SP_OF(regs) == SP_MOVE &&
		    ((MASK_OF(&kept) ^ MASK_OF(regs)) & MASK_BITS) == MASK_BITS;

	SP_OF(regs) = SP_OF(&kept);
	MASK_OF(regs) = (MASK_OF(regs) & ~MASK_BITS) | (MASK_OF(&kept) & MASK_BITS);
	return both ? clauses_before(kp, regs) : 0;
}

/* The next instruction finds the stack pointer and the mask of interrupts changed. */
static void O6_handlers_change_sp_and_mask(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_KPROBES_C) && IS_ENABLED(CONFIG_X86))
		kunit_skip(test, "a step of C's keeps interrupts as they were");
	PROBE_IN(probe, PLAIN, .pre_handler = change);
	PROBE_IN(next, PLAIN + BEHIND_BYTES, AFTER, .pre_handler = change_back);
	EXPECT_CALL(next, 1);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
	EXPECT_CALL(next, 2);
	KUNIT_EXPECT_EQ(test, probe.before, 2);
}

#if defined(CONFIG_RUST_KPROBES) && defined(CONFIG_PROVE_LOCKING) && !defined(CONFIG_X86)
static int mask_interrupts(struct kprobe *kp, struct pt_regs *regs)
{
	MASK_OF(regs) ^= MASK_BITS;
	return 0;
}

static void O6_lockdep_is_told_of_the_mask(struct kunit *test)
{
	bool is_told;

	if (!debug_locks)
		kunit_skip(test, "lockdep has given up");
	PROBE_IN(probe, PLAIN, .pre_handler = mask_interrupts);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
	call(PLAIN, 1);
	is_told = raw_irqs_disabled() && !lockdep_hardirqs_enabled();
	local_irq_enable();
	KUNIT_EXPECT_TRUE(test, is_told);
}
#endif

#ifdef CONFIG_CPU_SW_DOMAIN_PAN
static unsigned int seen, returned;

static int see_domain(struct kprobe *kp, struct pt_regs *regs)
{
	seen |= get_domain();
	return clauses_before(kp, regs);
}

static int see_domain_at_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	seen |= get_domain();
	returned++;
	return 0;
}

/* Otherwise handlers could reach user space by mistake. */
static void H1_handlers_run_without_access_to_users(struct kunit *test)
{
	struct kretprobe rp = {
		.kp.addr = (kprobe_opcode_t *)PLAIN,
		.handler = see_domain_at_return,
	};
	unsigned int closed, open, after;
	int n;

	returned = 0;
	PROBE_IN(probe, PLAIN, .pre_handler = see_domain);
	KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
	for (n = 1; n <= 2; n++) {
		seen = 0;
		closed = uaccess_save_and_enable();
		open = get_domain();
		call(PLAIN, 1);
		after = get_domain();
		uaccess_restore(closed);
		KUNIT_EXPECT_EQ(test, probe.before, n);
		KUNIT_EXPECT_EQ(test, returned, n);
		KUNIT_EXPECT_EQ(test, seen, closed);
		KUNIT_EXPECT_EQ(test, after, open);
		KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
	}
	unregister_kretprobe(&rp);
}
#endif

#ifdef CONFIG_RUST_KPROBES
static int make_due(struct kprobe *kp, struct pt_regs *regs)
{
	set_tsk_need_resched(current);
	set_preempt_need_resched();
	return 0;
}

/* The task is preempted after the hit, also if irq_work_queue() has a jump. */
static void O9_preempted_after_a_hit(struct kunit *test)
{
	int due = IS_ENABLED(CONFIG_PREEMPTION), tries;

	PROBE_IN(probe, PLAIN, .pre_handler = make_due);
	PROBE_AT(on_the_way, "irq_work_queue");
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
	/* A tick may make it due again. */
	for (tries = 0; due && tries < 10; tries++) {
		KUNIT_EXPECT_EQ(test, call(optimize_plain, 1), 6);
		due = need_resched();
	}
	KUNIT_EXPECT_FALSE(test, due);
}
#endif

static struct kunit_case optimize_cases[] = {
	KUNIT_CASE(O1_a_probe_becomes_a_jump),
	KUNIT_CASE(O1_later_ones_become_jumps),
	KUNIT_CASE(O2_all_of_many_become_jumps),
	KUNIT_CASE(O3_post_handler_comes_and_goes),
#ifdef INSIDE
	KUNIT_CASE(O3_another_place_in_the_jump),
	KUNIT_CASE(O3_the_other_place_goes),
	KUNIT_CASE(O3_the_place_around_comes_later),
#endif
	KUNIT_CASE(O3_disabled_and_enabled),
	KUNIT_CASE(O3_probes_share_a_jump),
	KUNIT_CASE(O4_the_switch_takes_all_jumps_out),
	KUNIT_CASE(O4_no_jump_comes_while_it_is_off),
	KUNIT_CASE(O4_other_values_are_refused),
#ifdef CONFIG_CPU_SW_DOMAIN_PAN
	KUNIT_CASE(H1_handlers_run_without_access_to_users),
#endif
	KUNIT_CASE(O6_handlers_change_sp_and_mask),
#if defined(CONFIG_RUST_KPROBES) && defined(CONFIG_PROVE_LOCKING) && !defined(CONFIG_X86)
	KUNIT_CASE(O6_lockdep_is_told_of_the_mask),
#endif
	KUNIT_CASE(O7_only_the_bytes_of_the_jump_change),
	KUNIT_CASE(O7_boundaries_behind_jumps),
#ifdef ANOTHER_JUMP
	KUNIT_CASE(O7_another_jump_in_the_function),
#endif
#ifdef CONFIG_RUST_KPROBES
	KUNIT_CASE(O9_preempted_after_a_hit),
#endif
	{}
};

CLAUSES_SUITE(clauses_optimize, optimize_cases, WITH_SWITCH);
