// SPDX-License-Identifier: GPL-2.0
/*
 * Hits by breakpoints: instructions that are stepped, run as copies or are
 * emulated. See the architecture's target.S for the instructions.
 */
#include <linux/irqflags.h>
#include <linux/preempt.h>
#include "step.h"

/*
 * Each adds five. @next is where it goes on, NULL if the caller knows. C's steps
 * branches on s390, and QEMU ends a step of a branch at a wrong address.
 */
static const struct target {
	asmlinkage long (*function)(long value);
	const u8 *site;
	const u8 *next;
} targets[] = {
	{ clauses_move, clauses_move_site, clauses_move_next },
	{ clauses_rip, clauses_rip_site, clauses_rip_next },
#if !defined(CONFIG_S390) || !defined(CONFIG_KPROBES_C)
	{ clauses_jump, clauses_jump_site, clauses_jump_next },
	{ clauses_branch, clauses_branch_site, clauses_branch_next },
	{ clauses_call_site_in, clauses_call_site, NULL },
	{ clauses_return, clauses_return_site, NULL },
#endif
};

static bool is_target(const struct target *at)
{
	return at < targets + ARRAY_SIZE(targets);
}

struct many *clauses_many(struct kunit *test)
{
	struct many *many = kunit_kzalloc(test, sizeof(*many), GFP_KERNEL);
	int n;

	KUNIT_ASSERT_NOT_NULL(test, many);
	memcpy(many->text, clauses_row_begin, ROW_BYTES);
	for (n = 0; n < ROW; n++) {
		/* In no order: 7 and their number have no common divisor. */
		many->probes[n] = COUNTED_IN(row_site(n * 7 % ROW));
		many->batch[n] = &many->probes[n].kp;
	}
	return many;
}

int clauses_hit_once(const struct many *many)
{
	int n, once = 0;

	for (n = 0; n < ROW; n++)
		once += many->probes[n].before == 1;
	return once;
}

static bool other_context;

static int in_trap(struct kprobe *kp, struct pt_regs *regs)
{
	other_context |= !irqs_disabled() || !!in_nmi() != TRAP_IS_NMI;
	return clauses_before(kp, regs);
}

static void H1_breakpoints_come_like_nmis(struct kunit *test)
{
	/* Else C replaces the breakpoint by a jump later. */
	other_context = false;
	PROBE_IN(probe, clauses_move_site, .pre_handler = in_trap, AFTER);
	KUNIT_EXPECT_EQ(test, clauses_move(1), 6);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
	KUNIT_EXPECT_FALSE(test, other_context);
}

static void H5_instruction_is_carried_out(struct kunit *test)
{
	for (const struct target *at = targets; is_target(at); at++) {
		PROBE_IN(probe, at->site);
		KUNIT_EXPECT_EQ(test, at->function(1), 6);
		KUNIT_EXPECT_EQ(test, at->function(-3), 2);
		KUNIT_EXPECT_EQ(test, probe.before, 2);
		take_out(&probe);
		KUNIT_EXPECT_EQ(test, at->function(1), 6);
		KUNIT_EXPECT_EQ(test, probe.before, 2);
	}
}

static void H2_ip_of_breakpoints(struct kunit *test)
{
	for (const struct target *at = targets; is_target(at); at++) {
		PROBE_IN(probe, at->site, AFTER);
		probe.flags_after = 1;
		KUNIT_EXPECT_EQ(test, at->function(1), 6);
		EXPECT_HITS(probe, 1, 1);
		KUNIT_EXPECT_EQ(test, probe.flags_after, 0);
		KUNIT_EXPECT_EQ(test, probe.ip_before,
				(unsigned long)at->site + TRAP_BYTES);
		if (at->next)
			KUNIT_EXPECT_EQ(test, probe.ip_after,
					(unsigned long)at->next);
	}
}

static int go_elsewhere(struct kprobe *kp, struct pt_regs *regs)
{
	regs_set_return_value(regs, 42);
	instruction_pointer_set(regs, (unsigned long)clauses_move_next);
	clauses_before(kp, regs);
	return 1;
}

static void H3_other_path(struct kunit *test)
{
	PROBE_IN(older, clauses_move_site, AFTER);
	PROBE_IN(newer, clauses_move_site, .pre_handler = go_elsewhere, AFTER);
	KUNIT_EXPECT_EQ(test, clauses_move(1), 42);
	EXPECT_HITS(newer, 1, 0);
	EXPECT_HITS(older, 0, 0);
	/* The CPU is free again. */
	take_out(&newer);
	KUNIT_EXPECT_EQ(test, clauses_move(1), 6);
	EXPECT_HITS(older, 1, 1);
}

static long (*inner_function)(long value);
static long inner_result;

static int call_inner(struct kprobe *kp, struct pt_regs *regs)
{
	inner_result += inner_function(1);
	return clauses_before(kp, regs);
}

static void call_inner_after(struct kprobe *kp, struct pt_regs *regs,
			     unsigned long flags)
{
	inner_result += inner_function(1);
	clauses_after(kp, regs, flags);
}

/* Whatever the inner instruction takes, the outer hit goes on. */
static void H4_instruction_of_a_missed_hit(struct kunit *test)
{
	int n;

	for (n = 1; n < ARRAY_SIZE(targets); n++) {
		inner_function = targets[n].function;
		inner_result = 0;
		PROBE_IN(inner, targets[n].site, AFTER);
		PROBE_IN(outer, clauses_move_site, .pre_handler = call_inner,
			 .post_handler = call_inner_after);
		KUNIT_EXPECT_EQ(test, clauses_move(1), 6);
		KUNIT_EXPECT_EQ(test, inner_result, 12);
		EXPECT_HITS(outer, 1, 1);
		KUNIT_EXPECT_EQ(test, inner.before, 0);
		KUNIT_EXPECT_EQ(test, inner.kp.nmissed, 2);
	}
}

/* A probe whose handlers call its own target. */
static void H4_probe_hits_itself(struct kunit *test)
{
	inner_function = clauses_inner;
	inner_result = 0;
	PROBE_IN(probe, clauses_inner_site, .pre_handler = call_inner,
		 .post_handler = call_inner_after);
	KUNIT_EXPECT_EQ(test, clauses_inner(1), 6);
	KUNIT_EXPECT_EQ(test, inner_result, 12);
	EXPECT_HITS(probe, 1, 1);
	KUNIT_EXPECT_EQ(test, probe.kp.nmissed, 2);
}

/* The instruction must come back while a post handler wants it to, only. */
static void H5_post_handlers_come_and_go(struct kunit *test)
{
	int round;

	for (const struct target *at = targets; is_target(at); at++) {
		struct counted comes = COUNTED_IN(at->site, AFTER);

		PROBE_IN(stays, at->site);
		for (round = 1; round <= 3; round++) {
			comes.kp.flags = 0;
			KUNIT_ASSERT_EQ(test, register_kprobe(&comes.kp), 0);
			KUNIT_EXPECT_EQ(test, at->function(1), 6);
			KUNIT_EXPECT_EQ(test, comes.after, round);
			unregister_kprobe(&comes.kp);
			KUNIT_EXPECT_EQ(test, at->function(1), 6);
			KUNIT_EXPECT_EQ(test, comes.after, round);
			KUNIT_EXPECT_EQ(test, stays.before, 2 * round);
		}
	}
}

static void R1_13_errno_of_instructions(struct kunit *test)
{
	const struct {
		const u8 *at;
		int err;
	} refused[] = REFUSED_INSNS;
	int n;

	for (n = 0; n < ARRAY_SIZE(refused); n++)
		KUNIT_EXPECT_EQ_MSG(test, clauses_try(COUNTED_IN(refused[n].at)),
				    refused[n].err, "%pS", refused[n].at);
}

/* A breakpoint that is there does not hide what it is over. */
static void R1_13_boundaries_behind_probes(struct kunit *test)
{
	PROBE_IN(first, clauses_rip_site);
	REFUSED_IN(-INSIDE_ERRNO, hidden(clauses_rip_site) + 2);
	PROBE_IN(second, clauses_rip_next);
	KUNIT_EXPECT_EQ(test, clauses_rip(1), 6);
	KUNIT_EXPECT_EQ(test, first.before, 1);
	KUNIT_EXPECT_EQ(test, second.before, 1);
}

#ifndef OPCODE
#define OPCODE(word)	(word)
#endif

/* Else C may put a jump there, and take it out later. */
#define NO_JUMP	AFTER_IF(IS_ENABLED(CONFIG_KPROBES_C))

/* Who reads the text needs it to see through the breakpoint. */
static void M2_opcode_is_what_was_there(struct kunit *test)
{
	for (const struct target *at = targets; is_target(at); at++) {
		const kprobe_opcode_t *code = (const void *)at->site;
		kprobe_opcode_t before = *code;

		PROBE_IN(first, at->site, NO_JUMP, .opcode = ~before);
		KUNIT_EXPECT_NE(test, *code, before);
		KUNIT_EXPECT_EQ(test, first.kp.opcode, OPCODE(before));
		PROBE_IN(second, at->site, NO_JUMP, .opcode = ~before);
		KUNIT_EXPECT_EQ(test, second.kp.opcode, OPCODE(before));
	}
}

static void H11_text_is_restored(struct kunit *test)
{
	u8 before[16];

	for (const struct target *at = targets; is_target(at); at++) {
		memcpy(before, at->site, sizeof(before));
		PROBE_IN(probe, at->site, NO_JUMP);
		KUNIT_EXPECT_MEMNEQ(test, before, at->site, sizeof(before));
		KUNIT_EXPECT_EQ(test, disable_kprobe(&probe.kp), 0);
		KUNIT_EXPECT_MEMEQ(test, before, at->site, sizeof(before));
		KUNIT_EXPECT_EQ(test, enable_kprobe(&probe.kp), 0);
		take_out(&probe);
		KUNIT_EXPECT_MEMEQ(test, before, at->site, sizeof(before));
	}
}

static struct kunit_case step_cases[] = {
	KUNIT_CASE(H1_breakpoints_come_like_nmis),
	KUNIT_CASE(H5_instruction_is_carried_out),
	KUNIT_CASE(H2_ip_of_breakpoints),
	KUNIT_CASE(H3_other_path),
	KUNIT_CASE(H4_instruction_of_a_missed_hit),
	KUNIT_CASE(H4_probe_hits_itself),
	KUNIT_CASE(H5_post_handlers_come_and_go),
	KUNIT_CASE(R1_13_errno_of_instructions),
	KUNIT_CASE(R1_13_boundaries_behind_probes),
	KUNIT_CASE(M2_opcode_is_what_was_there),
	KUNIT_CASE(H11_text_is_restored),
	{}
};

CLAUSES_SUITE(clauses_step, step_cases);
