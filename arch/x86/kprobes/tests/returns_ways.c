// SPDX-License-Identifier: GPL-2.0
/*
 * The ways in which the entry of a function with a return probe is hit, and the
 * registers that its end leaves.
 */
#include "jumps.h"
#include "returns.h"

static void K3_through_ftrace(struct kunit *test)
{
	WATCH(probe, INNER);
	KUNIT_EXPECT_EQ(test, kprobe_ftrace(&probe.rp.kp),
			IS_ENABLED(CONFIG_KPROBES_ON_FTRACE));
	KUNIT_EXPECT_EQ(test, call_inner(), 1);
	EXPECT_TOLD(test, &probe, 1, 1);
}

static void K3_by_a_breakpoint(struct kunit *test)
{
	/* With this one there is no jump. */
	PROBE_IN(stays, PLAIN, AFTER);
	WATCH(probe, NULL, .kp.addr = (kprobe_opcode_t *)PLAIN);
	KUNIT_EXPECT_TRUE(test, IS_BREAKPOINT(PLAIN));
	KUNIT_EXPECT_EQ(test, call(optimize_plain, 1), 6);
	EXPECT_TOLD(test, &probe, 1, 1);
	KUNIT_EXPECT_EQ(test, probe.value, 6);
	KUNIT_EXPECT_EQ(test, stays.after, 1);
}

static void K3_by_a_jump(struct kunit *test)
{
	WATCH(probe, NULL, .kp.addr = (kprobe_opcode_t *)PLAIN);
	KUNIT_EXPECT_TRUE(test, becomes_a_jump(PLAIN));
	KUNIT_EXPECT_EQ(test, call(optimize_plain, 1), 6);
	EXPECT_TOLD(test, &probe, 1, 1);
	KUNIT_EXPECT_EQ(test, probe.value, 6);
}

/* What C runs with. */
#define FLAGS	(X86_EFLAGS_FIXED | X86_EFLAGS_IF)

static void run(struct pt_regs *regs, unsigned long flags)
{
	unsigned long *word = (unsigned long *)regs;
	int n;

	for (n = 0; n < sizeof(*regs) / sizeof(*word); n++)
		word[n] = 0x0101010101010101 * (n + 1);
	regs->flags = FLAGS | flags;
	/* The function subtracts from it: from nothing it leaves a borrow. */
	if (flags)
		regs->r14 = 0;
	clauses_invoke_with(regs, optimize_registers);
	/* The function returns by a thunk that leaves flags of its own. */
	if (cpu_feature_enabled(X86_FEATURE_CALL_DEPTH))
		regs->flags = 0;
}

static int seen_flags, own_flags;

static int note_flags(struct kretprobe_instance *call, struct pt_regs *regs)
{
	seen_flags = regs->flags;
	own_flags = native_save_fl();
	return watched_returned(call, regs);
}

/* All of them, as the function leaves them; the handler sees them too. */
static void K4_registers_are_left_alone(struct kunit *test)
{
	static const unsigned long flags[] = {
		0, X86_EFLAGS_CF, X86_EFLAGS_AC, X86_EFLAGS_CF | X86_EFLAGS_ZF |
		X86_EFLAGS_SF | X86_EFLAGS_OF | X86_EFLAGS_PF | X86_EFLAGS_AF,
	};
	struct pt_regs bare[ARRAY_SIZE(flags)], hooked;
	int n, jump, calls = 0;

	for (n = 0; n < ARRAY_SIZE(flags); n++)
		run(&bare[n], flags[n]);
	WATCH(probe, NULL, .kp.addr = (kprobe_opcode_t *)PLACE(registers),
	      .handler = note_flags);
	for (jump = 0; jump < 2; jump++) {
		if (jump)
			KUNIT_EXPECT_TRUE(test,
					  becomes_a_jump(PLACE(registers)));
		for (n = 0; n < ARRAY_SIZE(flags); n++) {
			run(&hooked, flags[n]);
			calls++;
			KUNIT_EXPECT_MEMEQ(test, &hooked, &bare[n],
					   sizeof(hooked));
			if (bare[n].flags)
				KUNIT_EXPECT_EQ(test, seen_flags, bare[n].flags);
			KUNIT_EXPECT_EQ(test, probe.value, bare[n].ax);
		}
	}
	EXPECT_TOLD(test, &probe, calls, calls);
}

/* Otherwise they could reach user space by mistake. */
static void K4_handlers_run_without_access_to_users(struct kunit *test)
{
	struct pt_regs hooked;

	WATCH(probe, NULL, .kp.addr = (kprobe_opcode_t *)PLACE(registers),
	      .handler = note_flags);
	run(&hooked, X86_EFLAGS_AC);
	EXPECT_TOLD(test, &probe, 1, 1);
	if (boot_cpu_has(X86_FEATURE_SMAP))
		KUNIT_EXPECT_FALSE(test, own_flags & X86_EFLAGS_AC);
}

static unsigned long swap;

static int change_registers(struct kretprobe_instance *call,
			    struct pt_regs *regs)
{
	regs->bx ^= swap;
	regs->r15 ^= swap;
	regs->flags ^= X86_EFLAGS_CF;
	return watched_returned(call, regs);
}

static void K4_a_handler_changes_registers(struct kunit *test)
{
	struct pt_regs bare, hooked;

	swap = 0x5555;
	run(&bare, 0);
	WATCH(probe, NULL, .kp.addr = (kprobe_opcode_t *)PLACE(registers),
	      .handler = change_registers);
	run(&hooked, 0);
	unwatch(&probe);
	bare.bx ^= swap;
	bare.r15 ^= swap;
	if (bare.flags)
		bare.flags ^= X86_EFLAGS_CF;
	KUNIT_EXPECT_MEMEQ(test, &hooked, &bare, sizeof(hooked));
	EXPECT_TOLD(test, &probe, 1, 1);
}

static struct kunit_case returns_ways_cases[] = {
	KUNIT_CASE(K3_through_ftrace),
	KUNIT_CASE(K3_by_a_breakpoint),
	KUNIT_CASE(K3_by_a_jump),
	KUNIT_CASE(K4_registers_are_left_alone),
	KUNIT_CASE(K4_handlers_run_without_access_to_users),
	KUNIT_CASE(K4_a_handler_changes_registers),
	{}
};

CLAUSES_SUITE(clauses_returns_ways, returns_ways_cases, WITH_SWITCH);
