// SPDX-License-Identifier: GPL-2.0
/*
 * Registration: what is accepted, and with which errno something is refused.
 */
#include <linux/ftrace.h>
#include <linux/string.h>
#include "step.h"

static void R1_1_symbol_and_address(struct kunit *test)
{
	REFUSED_AT(-EINVAL, TARGET,
		   .addr = (kprobe_opcode_t *)kprobes_clauses_target);
}

static void R1_1_neither_symbol_nor_address(struct kunit *test)
{
	REFUSED_AT(-EINVAL, NULL);
}

static void R1_2_unknown_symbol(struct kunit *test)
{
	REFUSED_AT(-ENOENT, "kprobes_clauses_no_such_symbol");
}

static void R1_2_symbol_of_a_module(struct kunit *test)
{
	REFUSED_AT(-ENOENT, "no_such_module:kprobes_clauses_target");
	PROBE_AT(good, "kprobes_clauses:kprobes_clauses_target");
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, good.before, 1);
}

static void R1_3_address_without_symbol(struct kunit *test)
{
	REFUSED_IN(-ENOENT, 16UL);
}

/* The warning is once per boot, so only the errno is sure. */
static void R1_5_same_probe_twice(struct kunit *test)
{
	int again;

	PROBE_AT(probe, TARGET);
	probe.kp.symbol_name = NULL;
	kunit_warning_suppress(test)
		again = register_kprobe(&probe.kp);
	KUNIT_EXPECT_EQ(test, again, -EINVAL);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
}

/* What a client finds in its probe: also where a later step refuses it. */
static void R1_6_begins_anew_though_it_is_refused(struct kunit *test)
{
	struct counted probe = COUNTED_AT("get_kprobe", .flags = ~0,
					  .nmissed = 7);

	KUNIT_EXPECT_EQ(test, register_kprobe(&probe.kp), -EINVAL);
	/* C asks ftrace before it refuses, so that flag may be there. */
	KUNIT_EXPECT_EQ(test, probe.kp.flags & ~KPROBE_FLAG_FTRACE,
			KPROBE_FLAG_DISABLED | KPROBE_FLAG_ON_FUNC_ENTRY);
	KUNIT_EXPECT_EQ(test, probe.kp.nmissed, 0);
	/* That is how trace_kprobe knows that its probe is not registered. */
	KUNIT_EXPECT_TRUE(test, list_empty(&probe.kp.list));
	KUNIT_EXPECT_TRUE(test, hlist_unhashed(&probe.kp.hlist));
}

/* But not where an earlier one does. */
static void R1_6_left_alone_without_a_place(struct kunit *test)
{
	struct counted probe = COUNTED_AT("kprobes_clauses_no_such_symbol",
					  .flags = KPROBE_FLAG_GONE,
					  .nmissed = 7);

	KUNIT_EXPECT_EQ(test, register_kprobe(&probe.kp), -ENOENT);
	KUNIT_EXPECT_NULL(test, probe.kp.addr);
	KUNIT_EXPECT_EQ(test, probe.kp.flags, KPROBE_FLAG_GONE);
	KUNIT_EXPECT_EQ(test, probe.kp.nmissed, 7);
}

#ifdef CONFIG_KALLSYMS_ALL
static void R1_8_data_is_no_text(struct kunit *test)
{
	REFUSED_AT(-EINVAL, "init_task");
}
#endif

static void R2_no_handlers(struct kunit *test)
{
	PROBE_AT(probe, TARGET, .pre_handler = NULL);
	KUNIT_EXPECT_EQ(test, clauses_call(1), 2);
}

/* What ftrace may not call from is probed all the same. */
static void R2_notrace_is_not_asked(struct kunit *test)
{
	PROBE_AT(probe, "kprobes_clauses_untraced");
	KUNIT_EXPECT_FALSE(test, probe.kp.flags & KPROBE_FLAG_FTRACE);
	KUNIT_EXPECT_EQ(test, clauses_call_untraced(1), 4);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
}

#ifdef CLAUSES_TARGET
/* Any function may be named, as long as the offset is not negative. */
static void R2_offset_leads_to_another_function(struct kunit *test)
{
	const unsigned long target = (unsigned long)kprobes_clauses_target;
	const unsigned long other = (unsigned long)kprobes_clauses_other;
	const bool down = other < target;

	PROBE_AT(probe, down ? OTHER : TARGET,
		 .offset = down ? target - other : other - target);
	KUNIT_EXPECT_TRUE(test, probe.kp.flags & KPROBE_FLAG_ON_FUNC_ENTRY);
	(down ? clauses_call : clauses_call_other)(1);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
}

/* C does not look where it is registered, and its lists lead astray then. */
static void R1_5_same_probe_elsewhere(struct kunit *test)
{
	const unsigned long target = (unsigned long)kprobes_clauses_target;
	const unsigned long other = (unsigned long)kprobes_clauses_other;
	const bool down = other < target;
	int again;

	if (IS_ENABLED(CONFIG_KPROBES_C))
		kunit_skip(test, "known: C registers it twice (R1)");
	PROBE_AT(probe, down ? OTHER : TARGET);
	probe.kp.symbol_name = NULL;
	probe.kp.offset = down ? target - other : other - target;
	kunit_warning_suppress(test)
		again = register_kprobe(&probe.kp);
	KUNIT_EXPECT_EQ(test, again, -EINVAL);
	(down ? clauses_call_other : clauses_call)(1);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
	(down ? clauses_call : clauses_call_other)(1);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
}
#endif

#ifdef CONFIG_X86_KERNEL_IBT
static void R3_entry_is_behind_the_mark(struct kunit *test)
{
	const unsigned long entry = (unsigned long)kprobes_clauses_target;
	unsigned int offset;

	for (offset = 1; offset < 4; offset++)
		REFUSED_AT(-EILSEQ, TARGET, .offset = offset);
	for (offset = 0; offset <= 4; offset += 4) {
		PROBE_AT(probe, TARGET, .offset = offset);
		KUNIT_EXPECT_EQ(test, (unsigned long)probe.kp.addr, entry + 4);
		KUNIT_EXPECT_TRUE(test, probe.kp.flags &
				  KPROBE_FLAG_ON_FUNC_ENTRY);
	}
}
#endif

static void R4_disabled_is_not_hit(struct kunit *test)
{
	PROBE_AT(probe, TARGET, .flags = KPROBE_FLAG_DISABLED);
	KUNIT_EXPECT_EQ(test, clauses_call(1), 2);
	KUNIT_EXPECT_EQ(test, probe.before, 0);
	KUNIT_EXPECT_EQ(test, probe.kp.nmissed, 0);
}

static void R8_unknown_loses_its_address(struct kunit *test)
{
	struct counted probe = COUNTED_IN(kprobes_clauses_target);

	unregister_kprobe(&probe.kp);
	KUNIT_EXPECT_NULL(test, probe.kp.addr);
}

#if defined(CONFIG_KPROBES_ON_FTRACE) && defined(CLAUSES_TARGET)
/* Not from within the call, and what stands behind it is like any other. */
static void R1_7_ftrace_calls_from_the_entry_alone(struct kunit *test)
{
	struct counted inside;

	PROBE_AT(entry, TARGET);
	KUNIT_EXPECT_TRUE(test, kprobe_ftrace(&entry.kp));
	inside = COUNTED_IN(entry.kp.addr + 1);
	KUNIT_EXPECT_EQ(test, register_kprobe(&inside.kp), -INSIDE_ERRNO);
	KUNIT_EXPECT_FALSE(test, kprobe_ftrace(&inside.kp));
	/* Else C replaces the breakpoint by a jump later. */
	PROBE_IN(behind, (u8 *)entry.kp.addr + MCOUNT_INSN_SIZE, AFTER);
	KUNIT_EXPECT_FALSE(test, kprobe_ftrace(&behind.kp));
	KUNIT_EXPECT_EQ(test, clauses_call(1), 2);
	KUNIT_EXPECT_EQ(test, entry.before, 1);
	EXPECT_HITS(behind, 1, 1);
}

static void callback(unsigned long ip, unsigned long parent,
		     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
}

/* A probe that could not be armed must not look registered. */
static void D1_failed_arming_is_reported(struct kunit *test)
{
	static struct ftrace_ops owner = {
		.func = callback,
		.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY,
	};

	KUNIT_ASSERT_EQ(test, ftrace_set_filter(&owner, TARGET, strlen(TARGET), 1), 0);
	KUNIT_ASSERT_EQ(test, register_ftrace_function(&owner), 0);
	REFUSED_AT(-EBUSY, TARGET, AFTER);
	unregister_ftrace_function(&owner);
	ftrace_free_filter(&owner);
}

/*
 * Probes with and without a post handler come and go at a function that
 * ftrace calls from. Leaves a freed probe behind in C, so it is not run there.
 */
static void D2_post_handlers_come_and_go(struct kunit *test)
{
	struct counted first = COUNTED_AT(TARGET);
	struct counted second = COUNTED_AT(TARGET, AFTER);

	if (IS_ENABLED(CONFIG_KPROBES_C))
		kunit_skip(test, "known: defect D2 uses freed memory");
	KUNIT_ASSERT_EQ(test, register_kprobe(&first.kp), 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&second.kp), 0);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, first.before, 1);
	EXPECT_HITS(second, 1, 1);
	unregister_kprobe(&second.kp);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, first.before, 2);
	KUNIT_EXPECT_EQ(test, second.before, 1);
	unregister_kprobe(&first.kp);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, first.before, 2);
	anew(&second);
	KUNIT_ASSERT_EQ(test, register_kprobe(&second.kp), 0);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, second.after, 1);
	unregister_kprobe(&second.kp);
	/* And the one with a post handler comes last and goes last. */
	anew(&first);
	anew(&second);
	KUNIT_ASSERT_EQ(test, register_kprobe(&first.kp), 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&second.kp), 0);
	unregister_kprobe(&first.kp);
	unregister_kprobe(&second.kp);
	clauses_call(1);
	KUNIT_EXPECT_EQ(test, first.before, 0);
	KUNIT_EXPECT_EQ(test, second.before, 0);
}
#endif

static struct kunit_case register_cases[] = {
	KUNIT_CASE(R1_1_symbol_and_address),
	KUNIT_CASE(R1_1_neither_symbol_nor_address),
	KUNIT_CASE(R1_2_unknown_symbol),
	KUNIT_CASE(R1_2_symbol_of_a_module),
	KUNIT_CASE(R1_3_address_without_symbol),
	KUNIT_CASE(R1_5_same_probe_twice),
#ifdef CLAUSES_TARGET
	KUNIT_CASE(R1_5_same_probe_elsewhere),
#endif
	KUNIT_CASE(R1_6_begins_anew_though_it_is_refused),
	KUNIT_CASE(R1_6_left_alone_without_a_place),
#ifdef CONFIG_KALLSYMS_ALL
	KUNIT_CASE(R1_8_data_is_no_text),
#endif
	KUNIT_CASE(R2_no_handlers),
	KUNIT_CASE(R2_notrace_is_not_asked),
#ifdef CLAUSES_TARGET
	KUNIT_CASE(R2_offset_leads_to_another_function),
#endif
#ifdef CONFIG_X86_KERNEL_IBT
	KUNIT_CASE(R3_entry_is_behind_the_mark),
#endif
	KUNIT_CASE(R4_disabled_is_not_hit),
	KUNIT_CASE(R8_unknown_loses_its_address),
#if defined(CONFIG_KPROBES_ON_FTRACE) && defined(CLAUSES_TARGET)
	KUNIT_CASE(R1_7_ftrace_calls_from_the_entry_alone),
	KUNIT_CASE(D1_failed_arming_is_reported),
	KUNIT_CASE(D2_post_handlers_come_and_go),
#endif
	{}
};

CLAUSES_SUITE(clauses_register, register_cases);
