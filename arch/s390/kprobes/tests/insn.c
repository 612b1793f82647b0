// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions of s390 that kprobes treats in a way of its own, and what C gets
 * wrong there. See target.S for the instructions.
 */
#include <linux/irqflags.h>
#include <linux/preempt.h>
#include <linux/stacktrace.h>
#include <asm/ctlreg.h>
#include <asm/facility.h>
#include <asm/ptrace.h>
#include "step.h"

static const struct {
	void (*function)(struct clauses_masks *masks);
	const u8 *site;
} of_mask[] = {
	{ clauses_ssm, clauses_ssm_site },
	{ clauses_stnsm, clauses_stnsm_site },
	{ clauses_stosm, clauses_stosm_site },
	{ clauses_epsw, clauses_epsw_site },
};

/*
 * What SSM loads allows interrupts, or forbids them, as @irqs says; which of
 * them come here matters not. Lockdep is told nothing, as they are as before
 * when this returns.
 */
static struct clauses_masks run_mask(int n, bool off, bool irqs)
{
	struct clauses_masks masks = {};
	unsigned long flags;

	if (off)
		raw_local_irq_save(flags);
	masks.operand = __arch_local_irq_stosm(0) >> 56 & ~3;
	if (irqs)
		masks.operand |= 3;
	of_mask[n].function(&masks);
	if (off)
		raw_local_irq_restore(flags);
	return masks;
}

/* Each reads the mask of the task, writes it, or both. */
static void H5_interrupts_are_masked_as_said(struct kunit *test)
{
	int n, how;

	if (IS_ENABLED(CONFIG_KPROBES_C))
		kunit_skip(test, "with C's the task dies in SSM, and its probe stays");
	for (n = 0; n < ARRAY_SIZE(of_mask); n++) {
		for (how = 0; how < 4; how++) {
			struct clauses_masks bare = run_mask(n, how & 1, how & 2);

			FOR_EACH_HANDLER(kind) {
				struct clauses_masks masks;

				PROBE_IN(probe, of_mask[n].site, KIND_AT(kind));
				masks = run_mask(n, how & 1, how & 2);
				take_out(&probe);
				KUNIT_EXPECT_MEMEQ(test, &masks, &bare,
						   sizeof(bare));
				EXPECT_KIND(probe, kind);
				KUNIT_EXPECT_FALSE(test, irqs_disabled());
			}
		}
	}
}

static u64 controls[6];

static void store_controls(void)
{
	clauses_stctg(controls);
}

/* No event is on; the addresses are those of none. */
static void load_controls(void)
{
	controls[0] = 0;
	controls[1] = 0x1000;
	controls[2] = 0x2000;
	clauses_lctlg(controls);
}

/* Those with which a debugger steps are not kprobes'. */
static void H5_control_registers_are_the_tasks(struct kunit *test)
{
	static const struct {
		void (*run)(void);
		const u8 *site;
	} cases[] = {
		{ store_controls, clauses_stctg_site },
		{ load_controls, clauses_lctlg_site },
	};
	u64 bare[3];
	int n;

	for (n = 0; n < ARRAY_SIZE(cases); n++) {
		scoped_guard(preempt)
			cases[n].run();
		memcpy(bare, controls, sizeof(bare));
		FOR_EACH_HANDLER(kind) {
			PROBE_IN(probe, cases[n].site, KIND_AT(kind));
			scoped_guard(preempt)
				cases[n].run();
			KUNIT_EXPECT_MEMEQ(test, controls, bare, sizeof(bare));
			EXPECT_KIND(probe, kind);
		}
	}
}

static void H5_exrl_executes_its_target(struct kunit *test)
{
	FOR_EACH_HANDLER(kind) {
		PROBE_IN(probe, clauses_exrl_site, KIND_AT(kind));
		KUNIT_EXPECT_EQ(test, clauses_exrl(0x123456789abcdef0),
				0x123456789abcdef5);
		EXPECT_KIND(probe, kind);
	}
}

/* A breakpoint there is hit as a part of the EXRL, from which it cannot be told. */
static void H6_target_of_exrl_is_refused(struct kunit *test)
{
	REFUSED_IN(-EINVAL, clauses_exrl_target);
	REFUSED_AT(-EINVAL, "__s390_kernel_write");
	KUNIT_EXPECT_EQ(test, clauses_exrl(1), 6);
}

/* They would lead to where the copy is, or lose the mask that they load. */
static void H6_far_branches_are_refused(struct kunit *test)
{
	REFUSED_IN(-EINVAL, clauses_lpsw);
	REFUSED_IN(-EINVAL, clauses_lpswe);
	REFUSED_IN(-EINVAL, clauses_lpswey);
	REFUSED_IN(-EINVAL, clauses_rp);
	REFUSED_IN(-EINVAL, clauses_pti);
}

static void H6_what_traps_always_is_refused(struct kunit *test)
{
	REFUSED_IN(-EINVAL, clauses_trap2);
	REFUSED_IN(-EINVAL, clauses_trap4);
	REFUSED_IN(-EINVAL, clauses_svc);
	REFUSED_IN(-EINVAL, clauses_sam31);
}

static void H8_bic_leads_to_where_the_memory_says(struct kunit *test)
{
	const void *const to = clauses_bic_next;

	if (!test_facility(58))
		kunit_skip(test, "this CPU has no BIC");
	if (IS_ENABLED(CONFIG_KPROBES_C))
		kunit_skip(test, "known: defect H8 kills the kernel");
	FOR_EACH_HANDLER(kind) {
		PROBE_IN(probe, clauses_bic_site, KIND_AT(kind));
		KUNIT_EXPECT_EQ(test, clauses_bic(1, &to), 6);
		EXPECT_KIND(probe, kind);
	}
}

/*
 * The kernel's own function for its own test: an inline 0x0000, of which nobody
 * knows what it is over, and an instruction behind it.
 */
static void R1_13_kprobes_target_bp(struct kunit *test)
{
	const unsigned long *offset = clauses_symbol("kprobes_target_bp_offs");

	if (!offset)
		kunit_skip(test, "no CONFIG_S390_KPROBES_SANITY_TEST");
	KUNIT_EXPECT_EQ(test, clauses_try(COUNTED_AT("kprobes_target_bp")), 0);
	REFUSED_AT(-EINVAL, "kprobes_target_bp", .offset = *offset);
	/* The byte that is there, and its second. */
	REFUSED_AT(-EINVAL, "kprobes_target_bp", .offset = *offset - 6);
	REFUSED_AT(-EINVAL, "kprobes_target_bp", .offset = *offset - 5);
}

/*
 * Who else has the CPU tell of an instruction. While a handler runs, C takes
 * that for the end of a step.
 */
static void tell_of_an_instruction(void)
{
	struct ctlreg old[3], per[3] = {
		{ .val = PER_EVENT_IFETCH },
		{ .val = (unsigned long)clauses_inner_site },
		{ .val = (unsigned long)clauses_inner_site },
	};
	unsigned long flags;

	raw_local_irq_save(flags);
	__local_ctl_store(9, 11, old);
	__local_ctl_load(9, 11, per);
	__arch_local_irq_stosm(0x40);
	clauses_inner(1);
	__arch_local_irq_stnsm(0xbf);
	__local_ctl_load(9, 11, old);
	raw_local_irq_restore(flags);
}

static int is_told(struct kprobe *kp, struct pt_regs *regs)
{
	tell_of_an_instruction();
	return clauses_before(kp, regs);
}

static void H5_foreign_event_does_not_end_the_step(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_KPROBES_C))
		kunit_skip(test, "known: defect H5 kills the kernel");
	PROBE_IN(probe, clauses_move_site, .pre_handler = is_told, AFTER);
	KUNIT_EXPECT_EQ(test, clauses_move(1), 6);
	EXPECT_HITS(probe, 1, 1);
}

/* How often all CPUs wait for new text: by one way or the other. */
static void R9_all_of_a_batch_are_armed_at_once(struct kunit *test)
{
	struct many *many = clauses_many(test);
	int before;

	PROBE_AT(stops, "stop_machine_cpuslocked");
	PROBE_AT(syncs, "text_poke_sync");
	before = stops.before + syncs.before;
	KUNIT_ASSERT_EQ(test, register_kprobes(many->batch, 16), 0);
	KUNIT_EXPECT_EQ(test, stops.before + syncs.before, before + 1);
	unregister_kprobes(many->batch, 16);
	KUNIT_EXPECT_EQ(test, stops.before + syncs.before, before + 2);
	KUNIT_EXPECT_MEMEQ(test, many->text, clauses_row_begin, ROW_BYTES);
}

static unsigned long trace[64], *outermost = trace;

static int save_trace(struct kprobe *kp, struct pt_regs *regs)
{
	outermost = trace + stack_trace_save(trace + 1, ARRAY_SIZE(trace) - 1, 0);
	return 0;
}

/* The trampoline has left its address where that of a caller is looked for. */
static void K8_trace_behind_a_watched_call(struct kunit *test)
{
	struct kretprobe rp = { .kp.symbol_name = "clauses_leaf" };
	unsigned long last;

	PROBE_IN(behind, clauses_call_site + 6, .pre_handler = save_trace);
	KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
	KUNIT_EXPECT_EQ(test, clauses_call_site_in(1), 6);
	unregister_kretprobe(&rp);
	last = *outermost;
	save_trace(NULL, NULL);
	KUNIT_EXPECT_EQ(test, last, *outermost);
}

static struct kunit_case insn_cases[] = {
	KUNIT_CASE(H5_interrupts_are_masked_as_said),
	KUNIT_CASE(H5_control_registers_are_the_tasks),
	KUNIT_CASE(H5_exrl_executes_its_target),
	KUNIT_CASE(H5_foreign_event_does_not_end_the_step),
	KUNIT_CASE(H6_target_of_exrl_is_refused),
	KUNIT_CASE(H6_far_branches_are_refused),
	KUNIT_CASE(H6_what_traps_always_is_refused),
	KUNIT_CASE(H8_bic_leads_to_where_the_memory_says),
	KUNIT_CASE(K8_trace_behind_a_watched_call),
	KUNIT_CASE(R1_13_kprobes_target_bp),
	KUNIT_CASE(R9_all_of_a_batch_are_armed_at_once),
	{}
};

CLAUSES_SUITE(clauses_insn, insn_cases);
