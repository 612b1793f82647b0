// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions of arm that kprobes treats in a way of its own, and what C gets
 * wrong there. See insn_target.S for the instructions.
 */
#include <linux/ctype.h>
#include <linux/irqflags.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include "fault.h"

asmlinkage long insn_exclusive(long *value);
asmlinkage long insn_call(long value);
asmlinkage long insn_literal(long value);
asmlinkage void insn_store_to(const unsigned char *to);

#define INSN(function)	{ #function, insn_##function, insn_##function##_site }

static const struct plain {
	const char *name;
	insn_plain_fn *function;
	const u8 *site;
} plains[] = {
	INSN(sdiv), INSN(udiv), INSN(dmb), INSN(dsb), INSN(isb), INSN(msr),
	INSN(ubfx), INSN(mrc), INSN(bx_pc), INSN(store), INSN(deep),
	INSN(deep_byte), INSN(deep_half), INSN(deep_two),
};

KUNIT_ARRAY_PARAM_DESC(plains, plains, name);

/* On one CPU: one of them reads which. */
static long run(const struct plain *of, long value)
{
	guard(preempt)();
	return of->function(value);
}

static void H5_runs_as_bare(struct kunit *test)
{
	const struct plain *of = test->param_value;
	static const long values[] = { 1, -1, 100, 0x50000000, 0xf8000000 };
	int n;

	for (n = 0; n < ARRAY_SIZE(values); n++) {
		long bare = run(of, values[n]);

		FOR_EACH_HANDLER(kind) {
			PROBE_IN(probe, of->site, KIND_AT(kind));
			KUNIT_EXPECT_EQ(test, run(of, values[n]), bare);
			EXPECT_KIND(probe, kind);
		}
	}
}

static const struct mask {
	const char *name;
	insn_mask_fn *function;
	const u8 *site;
} masks[] = { INSN(mrs), INSN(cpsid), INSN(cpsie), INSN(msr_c) };

KUNIT_ARRAY_PARAM_DESC(masks, masks, name);

/*
 * With interrupts on, or off as in local_irq_enable(), when lockdep has been told that
 * they are on. Returns what lockdep takes them for behind the instruction.
 */
static bool run_mask(const struct mask *of, bool off, u32 psr[3])
{
	bool on;

	guard(preempt)();
	if (off)
		raw_local_irq_disable();
	of->function(psr);
	on = lockdep_hardirqs_enabled();
	raw_local_irq_enable();
	local_irq_disable();
	local_irq_enable();
	return on;
}

/* Each reads the mask of interrupts, or writes it. */
static void H5_interrupts_are_masked_as_said(struct kunit *test)
{
	const struct mask *of = test->param_value;
	u32 bare[3], psr[3];
	int off;
	bool on;

	for (off = 0; off < 2; off++) {
		run_mask(of, off, bare);
		FOR_EACH_HANDLER(kind) {
			PROBE_IN(probe, of->site, KIND_AT(kind));
			on = run_mask(of, off, psr);
			KUNIT_EXPECT_MEMEQ(test, psr, bare, sizeof(bare));
			/* The return of the trap has told lockdep. */
			if (IS_ENABLED(CONFIG_TRACE_IRQFLAGS))
				KUNIT_EXPECT_EQ(test, on, !(psr[2] & PSR_I_BIT));
			EXPECT_KIND(probe, kind);
			KUNIT_EXPECT_FALSE(test, irqs_disabled());
		}
	}
}

static void H5_failing_condition_is_no_hit(struct kunit *test)
{
	FOR_EACH_HANDLER(kind) {
		PROBE_IN(probe, insn_condition_site, KIND_AT(kind));
		KUNIT_EXPECT_EQ(test, insn_condition(7), 7);
		EXPECT_HITS(probe, 0, 0);
		KUNIT_EXPECT_EQ(test, probe.kp.nmissed, 0);
		KUNIT_EXPECT_EQ(test, insn_condition(0), 5);
		EXPECT_KIND(probe, kind);
	}
}

/* A hit clears the CPU's monitor: the store would fail each time. */
static void H6_between_exclusives_is_refused(struct kunit *test)
{
	const u8 *ldrex = hidden(insn_exclusive);
	long value = 1;

	for (int into = 0; into < 12; into += 4)
		REFUSED_IN(-EINVAL, ldrex + into);
	PROBE_IN(behind, ldrex + 12);
	KUNIT_EXPECT_EQ(test, insn_exclusive(&value), 6);
	KUNIT_EXPECT_EQ(test, value, 6);
	KUNIT_EXPECT_EQ(test, behind.before, 1);
}

static void H6_banked_registers_are_refused(struct kunit *test)
{
	REFUSED_IN(-EINVAL, insn_banked_site);
}

/* A number in the text that an instruction loads is no instruction. */
static void R1_13_literals_are_refused(struct kunit *test)
{
	PROBE_IN(load, hidden(insn_literal));
	REFUSED_IN(-EINVAL, hidden(insn_literal) + 12);
	KUNIT_EXPECT_EQ(test, insn_literal(1), 6);
	KUNIT_EXPECT_EQ(test, load.before, 1);
}

/* Nor if an instruction behind the one that loads it is known to be one. */
static void R1_13_literals_are_refused_behind_others(struct kunit *test)
{
	struct counted behind = COUNTED_IN(hidden(insn_literal) + 4);
	struct counted literal = COUNTED_IN(hidden(insn_literal) + 12);
	struct kprobe *batch[] = { &behind.kp, &literal.kp };
	int error = register_kprobes(batch, 2);

	if (!error)
		unregister_kprobes(batch, 2);
	KUNIT_EXPECT_EQ(test, error, -EINVAL);
}

#if defined(CONFIG_RUST_KPROBES) && defined(CONFIG_PREEMPTION)
/* The trap of a hit calls it, so its own hit would not end. */
static void U8_the_scheduler_is_refused(struct kunit *test)
{
	REFUSED_AT(-EINVAL, "preempt_schedule_notrace");
}
#endif

/* A pointer to a function may have bit 0, its first instruction has not. */
static void M2_pointers_lead_to_instructions(struct kunit *test)
{
	unsigned long at = (unsigned long)insn_literal & ~POINTER_BIT;

	PROBE_IN(pointer, insn_literal);
	PROBE_IN(instruction, at);
	KUNIT_EXPECT_EQ(test, (unsigned long)pointer.kp.addr, at);
	KUNIT_EXPECT_EQ(test, insn_literal(1), 6);
	KUNIT_EXPECT_EQ(test, pointer.before + instruction.before, 2);
}

static unsigned long entry_sp;
static struct pt_regs returned;

static int note_entry(struct kretprobe_instance *call, struct pt_regs *regs)
{
	entry_sp = regs->ARM_sp;
	return 0;
}

static int note_return(struct kretprobe_instance *call, struct pt_regs *regs)
{
	returned = *regs;
	return 0;
}

/* All of them, also CPSR: the handler may ask whether they are a user's. */
static void K4_registers_of_a_return_are_whole(struct kunit *test)
{
	struct kretprobe rp = {
		.kp.symbol_name = "insn_called",
		.entry_handler = note_entry,
		.handler = note_return,
	};

	KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
	KUNIT_EXPECT_EQ(test, insn_call(1), 6);
	unregister_kretprobe(&rp);
	KUNIT_EXPECT_FALSE(test, user_mode(&returned));
	KUNIT_EXPECT_EQ(test, !!thumb_mode(&returned), POINTER_BIT);
	KUNIT_EXPECT_EQ(test, returned.ARM_sp, entry_sp);
	KUNIT_EXPECT_EQ(test, returned.ARM_r0, 6);
}

/* The first nine units of the trampoline: it has not saved all registers there. */
#define TRAMPOLINE_INSNS	9
#define INSN_UNIT	(POINTER_BIT ? 2 : 4)

static unsigned int (*save_trace)(struct pt_regs *regs, unsigned long *store,
				  unsigned int size, unsigned int skipnr);
static unsigned long callers[TRAMPOLINE_INSNS];

/* LR is the trampoline. Its first instruction makes room on the stack. */
static int trace_from_trampoline(struct kprobe *kp, struct pt_regs *regs)
{
	struct pt_regs at = *regs;
	int i;

	for (i = 0; i < TRAMPOLINE_INSNS; i++) {
		at.ARM_pc = (regs->ARM_lr & ~POINTER_BIT) + INSN_UNIT * i;
		at.ARM_sp = regs->ARM_sp - (i ? sizeof(at) + 8 : 0);
		save_trace(&at, callers + i, 1, 0);
	}
	return clauses_before(kp, regs);
}

static void K8_traces_from_the_trampoline_have_the_caller(struct kunit *test)
{
	struct kretprobe rp = { .kp.symbol_name = "clauses_return", .handler = note_return };
	int i;

	if (IS_ENABLED(CONFIG_KPROBES_C))
		kunit_skip(test, "C's is not known to the unwinder");
	save_trace = clauses_symbol("stack_trace_save_regs") + POINTER_BIT;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
	PROBE_IN(probe, hidden(clauses_return_site),
		 .pre_handler = trace_from_trampoline);
	KUNIT_EXPECT_EQ(test, clauses_return(1), 6);
	unregister_kretprobe(&rp);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
	for (i = 0; i < TRAMPOLINE_INSNS; i++)
		KUNIT_EXPECT_EQ_MSG(test, callers[i] & ~POINTER_BIT,
				    returned.ARM_pc, "instruction %d", i);
}

/* A hit takes no lock, so the spinlocks themselves can be probed. */
static void H4_spinlocks_can_be_probed(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_KPROBES_C))
		kunit_skip(test, "each hit of C's takes a spinlock, and does not end");
	PROBE_AT(probe, "_raw_spin_lock_irqsave");
	msleep(20);
	take_out(&probe);
	KUNIT_EXPECT_GT(test, probe.before, 0);
}

static bool unwatched;

static int ask_rcu(struct kprobe *kp, struct pt_regs *regs)
{
	unwatched |= !rcu_is_watching();
	return clauses_before(kp, regs);
}

/* Idle CPUs run text that can be probed, where RCU does not watch. */
static void H6_handlers_of_idle_code_may_use_rcu(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_KPROBES_C))
		kunit_skip(test, "with C's, RCU warns of what it does itself");
	unwatched = false;
	PROBE_AT(probe, "cpu_v7_do_idle", .pre_handler = ask_rcu);
	msleep(100);
	take_out(&probe);
	KUNIT_EXPECT_GT(test, probe.before, 0);
	KUNIT_EXPECT_FALSE(test, unwatched);
}

#ifdef CONFIG_RUST_KPROBES
static int return_from_fault(struct kprobe *kp, struct pt_regs *regs, int status)
{
	clauses_note_fault(kp, regs, status);
	instruction_pointer_set(regs, regs->ARM_lr);
	return 1;
}

/* The kernel's constants are mapped by sections: entries of the first-level page table. */
static void H9_fault_handler_for_a_write_to_sections(struct kunit *test)
{
	clauses_told.times = 0;
	PROBE_IN(probe, insn_store_to_site, AFTER, .fault_handler = return_from_fault);
	insn_store_to(_ctype);
	KUNIT_EXPECT_EQ(test, clauses_told.times, 1);
	KUNIT_EXPECT_EQ(test, clauses_told.ip, (unsigned long)insn_store_to_site);
	EXPECT_HITS(probe, 1, 0);
}
#endif

/* How often all CPUs are stopped for new text. */
static void R9_all_of_a_batch_are_armed_at_once(struct kunit *test)
{
	struct many *many = clauses_many(test);
	int before;

	if (!IS_ENABLED(CONFIG_SMP))
		kunit_skip(test, "no other CPU is to be stopped");
	PROBE_AT(stops, "stop_machine_cpuslocked");
	before = stops.before;
	KUNIT_ASSERT_EQ(test, register_kprobes(many->batch, 16), 0);
	KUNIT_EXPECT_EQ(test, stops.before, before + 1);
	unregister_kprobes(many->batch, 16);
	KUNIT_EXPECT_LE(test, stops.before, before + 3);
	KUNIT_EXPECT_MEMEQ(test, many->text, clauses_row_begin, ROW_BYTES);
}

static struct kunit_case insn_cases[] = {
	KUNIT_CASE_PARAM(H5_runs_as_bare, plains_gen_params),
	KUNIT_CASE_PARAM(H5_interrupts_are_masked_as_said, masks_gen_params),
	KUNIT_CASE(H5_failing_condition_is_no_hit),
	KUNIT_CASE(H6_between_exclusives_is_refused),
	KUNIT_CASE(H6_banked_registers_are_refused),
	KUNIT_CASE(R1_13_literals_are_refused),
	KUNIT_CASE(R1_13_literals_are_refused_behind_others),
#if defined(CONFIG_RUST_KPROBES) && defined(CONFIG_PREEMPTION)
	KUNIT_CASE(U8_the_scheduler_is_refused),
#endif
#ifdef CONFIG_RUST_KPROBES
	KUNIT_CASE(H9_fault_handler_for_a_write_to_sections),
#endif
	KUNIT_CASE(M2_pointers_lead_to_instructions),
	KUNIT_CASE(K4_registers_of_a_return_are_whole),
	KUNIT_CASE(K8_traces_from_the_trampoline_have_the_caller),
	KUNIT_CASE(H4_spinlocks_can_be_probed),
	KUNIT_CASE(H6_handlers_of_idle_code_may_use_rcu),
	KUNIT_CASE(R9_all_of_a_batch_are_armed_at_once),
	{}
};

CLAUSES_SUITE(clauses_insn, insn_cases);
