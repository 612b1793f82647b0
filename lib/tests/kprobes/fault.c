// SPDX-License-Identifier: GPL-2.0
/*
 * Faults of probed instructions and of handlers. See the architecture's target.S
 * for the instructions.
 */
#include <linux/irq_work.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/uaccess.h>
#include "fault.h"
#include "optimize.h"

static const long value = 4711;

/* A probe with a post handler is stepped, one without may not be. */
void clauses_try_fixup(struct kunit *test, const u8 *site,
		       long (*function)(const long *from), const long *from)
{
	int post;

	for (post = 0; post < 2; post++) {
		PROBE_IN(probe, site, AFTER_IF(post));
		KUNIT_EXPECT_EQ(test, function(from), -EFAULT);
		EXPECT_HITS(probe, 1, 0);
		/* The CPU is free, and interrupts are back. */
		KUNIT_EXPECT_FALSE(test, irqs_disabled());
		KUNIT_EXPECT_EQ(test, clauses_load(&value), value);
	}
}

static void H9_page_fault_is_fixed_up(struct kunit *test)
{
	clauses_try_fixup(test, clauses_load_site, clauses_load, UNMAPPED);
}

static void H9_page_fault_of_user_memory_is_fixed_up(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_ARM_PAN) && IS_ENABLED(CONFIG_KPROBES_C))
		kunit_skip(test, "C runs the instruction in its trap, where user memory is closed");
	clauses_try_fixup(test, clauses_load_user_site, clauses_load_user,
			  (const long *)PAGE_SIZE);
}

unsigned long clauses_user_page(struct kunit *test)
{
	unsigned long page;

	KUNIT_ASSERT_EQ(test, kunit_attach_mm(), 0);
	page = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, page, 0);
	return page;
}

static void H9_page_fault_is_satisfied(struct kunit *test)
{
	const unsigned long page = clauses_user_page(test);

	if (IS_ENABLED(CONFIG_ARM) && IS_ENABLED(CONFIG_KPROBES_C))
		kunit_skip(test, "C runs the instruction in its trap, where a fault sleeps");
	PROBE_IN(probe, clauses_load_user_site, AFTER);
	KUNIT_EXPECT_EQ(test, clauses_load_user((const long *)page), 0);
	/* It has hit the breakpoint again when the page was there. */
	KUNIT_EXPECT_GE(test, probe.before, 1);
	KUNIT_EXPECT_LE(test, probe.before, 2);
	KUNIT_EXPECT_EQ(test, probe.after, 1);
	probe.before = 0;
	KUNIT_EXPECT_EQ(test, clauses_load_user((const long *)page), 0);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
}

/* A handler that faults where the exception table knows it. */
static int load_unmapped(struct kprobe *kp, struct pt_regs *regs)
{
	if (clauses_load(UNMAPPED) != -EFAULT)
		return 0;
	return clauses_before(kp, regs);
}

static void load_unmapped_after(struct kprobe *kp, struct pt_regs *regs,
				unsigned long flags)
{
	if (clauses_load(UNMAPPED) == -EFAULT)
		clauses_after(kp, regs, flags);
}

static void H9_handlers_may_fault(struct kunit *test)
{
	PROBE_IN(probe, clauses_move_site, .pre_handler = load_unmapped,
		 .post_handler = load_unmapped_after);
	KUNIT_EXPECT_EQ(test, clauses_move(1), 6);
	EXPECT_HITS(probe, 1, 1);
}

#ifdef CONFIG_RUST_KPROBES
/* Functions that read where nothing may be, and what is behind them. */
static void H9_probed_copies_may_fault(struct kunit *test)
{
	static struct counted probes[320];
	static struct kprobe *armed[ARRAY_SIZE(probes)];
	static const char * const functions[] = {
		"copy_from_kernel_nofault", "memdup_user",
		"arm_copy_from_user", "rep_movs_alternative",
	};
	void __user *page = (void __user *)clauses_user_page(test);
	void __user *nothing = (void __user *)PAGE_SIZE;
	int n, at, count, hits;
	void *copy;
	long word;

	for (n = 0; n < 2 * ARRAY_SIZE(functions); n++) {
		for (at = count = hits = 0; at < ARRAY_SIZE(probes); at++) {
			probes[at] = COUNTED_AT(functions[n / 2], .offset = at, AFTER_IF(n % 2));
			if (!register_kprobe(&probes[at].kp))
				armed[count++] = &probes[at].kp;
		}
		if (IS_ENABLED(CONFIG_OPTPROBES))
			KUNIT_EXPECT_TRUE(test, optimizer_was_here(test));
		KUNIT_EXPECT_EQ(test, get_kernel_nofault(word, UNMAPPED), -EFAULT);
		KUNIT_EXPECT_EQ(test, get_kernel_nofault(word, &value), 0);
		KUNIT_EXPECT_EQ(test, word, value);
		KUNIT_EXPECT_EQ(test, PTR_ERR(memdup_user(nothing, 64)), -EFAULT);
		copy = memdup_user(page, 64);
		KUNIT_EXPECT_FALSE(test, IS_ERR(copy));
		kfree(IS_ERR(copy) ? NULL : copy);
		KUNIT_EXPECT_FALSE(test, irqs_disabled());
		unregister_kprobes(armed, count);
		for (at = 0; at < ARRAY_SIZE(probes); at++)
			hits += probes[at].before;
		/* The last two are arm's, and of some CPUs of x86. */
		KUNIT_EXPECT_TRUE(test, hits > 0 || n >= (IS_ENABLED(CONFIG_ARM) ? 6 : 4));
	}
}

/* The second run is counted, and so are steps that end in a fixup. */
static void H9_step_faults_are_counted(struct kunit *test)
{
	size_t before = rust_kprobes_step_faults();
	const unsigned long page = clauses_user_page(test);

	PROBE_IN(probe, clauses_load_user_site);
	KUNIT_EXPECT_EQ(test, clauses_load_user((const long *)page), 0);
	KUNIT_EXPECT_EQ(test, probe.before, 2);
	KUNIT_EXPECT_EQ(test, rust_kprobes_step_faults() - before, 1);
	KUNIT_EXPECT_EQ(test, clauses_load_user((const long *)page), 0);
	KUNIT_EXPECT_EQ(test, rust_kprobes_step_faults() - before, 1);
	KUNIT_EXPECT_EQ(test, clauses_load_user((const long *)PAGE_SIZE),
			-EFAULT);
	KUNIT_EXPECT_EQ(test, probe.before, 4);
	KUNIT_EXPECT_EQ(test, rust_kprobes_step_faults() - before, 2);
}

struct fault clauses_told;

int clauses_note_fault(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	clauses_told.times++;
	clauses_told.probe = kp;
	clauses_told.trap = trapnr;
	clauses_told.ip = instruction_pointer(regs);
	return 0;
}

static int handle_fault(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	clauses_note_fault(kp, regs, trapnr);
	instruction_pointer_set(regs, (unsigned long)clauses_bare_load_out);
	return 1;
}

static void H9_fault_handler_for_handlers(struct kunit *test)
{
	clauses_told.times = 0;
	PROBE_IN(probe, clauses_move_site, .pre_handler = load_unmapped,
		 .post_handler = load_unmapped_after,
		 .fault_handler = clauses_note_fault);
	KUNIT_EXPECT_EQ(test, clauses_move(1), 6);
	KUNIT_EXPECT_EQ(test, clauses_told.times, 2);
	KUNIT_EXPECT_EQ(test, clauses_told.trap, PAGE_FAULT);
	KUNIT_EXPECT_EQ(test, clauses_told.ip, (unsigned long)clauses_load_site);
	EXPECT_HITS(probe, 1, 1);
}

static const long *bare_from;
static long bare_result;

static int load_bare(struct kprobe *kp, struct pt_regs *regs)
{
	bare_result = clauses_bare_load(bare_from);
	return clauses_before(kp, regs);
}

/* A fault that nobody else would survive. */
static void H9_fault_handler_deals_with_it(struct kunit *test)
{
	static const struct {
		const long *from;
		int trap;
	} cases[] = { { UNMAPPED, PAGE_FAULT }, { OTHER_FAULT, OTHER_TRAP } };
	int n;

	for (n = 0; n < ARRAY_SIZE(cases); n++) {
		bare_from = cases[n].from;
		bare_result = 0;
		clauses_told.times = 0;
		PROBE_IN(probe, clauses_move_site, .pre_handler = load_bare,
			 .fault_handler = handle_fault);
		KUNIT_EXPECT_EQ(test, clauses_move(1), 6);
		KUNIT_EXPECT_EQ(test, clauses_told.times, 1);
		KUNIT_EXPECT_EQ(test, clauses_told.trap, cases[n].trap);
		KUNIT_EXPECT_EQ(test, bare_result, -EFAULT);
		KUNIT_EXPECT_EQ(test, probe.before, 1);
	}
}

static void H9_fault_handler_for_the_step(struct kunit *test)
{
	clauses_told.times = 0;
	PROBE_IN(probe, clauses_load_site, .fault_handler = clauses_note_fault);
	KUNIT_EXPECT_EQ(test, clauses_load(UNMAPPED), -EFAULT);
	KUNIT_EXPECT_EQ(test, clauses_told.times, 1);
	KUNIT_EXPECT_EQ(test, clauses_told.trap, PAGE_FAULT);
	KUNIT_EXPECT_EQ(test, clauses_told.ip, (unsigned long)clauses_load_site);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
}

static void H9_fault_handler_deals_with_the_step(struct kunit *test)
{
	clauses_told.times = 0;
	PROBE_IN(probe, clauses_bare_load_site, AFTER,
		 .fault_handler = handle_fault);
	KUNIT_EXPECT_EQ(test, clauses_bare_load(UNMAPPED), -EFAULT);
	KUNIT_EXPECT_EQ(test, clauses_bare_load(OTHER_FAULT), -EFAULT);
	KUNIT_EXPECT_EQ(test, clauses_told.times, 2);
	KUNIT_EXPECT_EQ(test, clauses_told.trap, OTHER_TRAP);
	EXPECT_HITS(probe, 2, 0);
	KUNIT_EXPECT_EQ(test, clauses_bare_load(&value), value);
	KUNIT_EXPECT_EQ(test, probe.after, 1);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
}

/* An interrupt in the middle of a handler, which faults. */
static void fault_in_interrupt(struct irq_work *unused)
{
	if (clauses_load(UNMAPPED) == -EFAULT)
		bare_result++;
}

static DEFINE_IRQ_WORK(interrupt, fault_in_interrupt);

static int be_interrupted(struct kprobe *kp, struct pt_regs *regs)
{
	const int tries = 1000000;
	int n;

	irq_work_queue(&interrupt);
	for (n = 0; n < tries && irq_work_is_busy(&interrupt); n++)
		cpu_relax();
	return clauses_before(kp, regs);
}

static void H9_fault_handler_is_not_asked_for_interrupts(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		kunit_skip(test, "no handler has interrupts on without ftrace");
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		kunit_skip(test, "threads do the work of interrupts");
	clauses_told.times = 0;
	bare_result = 0;
	PROBE_AT(probe, TARGET, .pre_handler = be_interrupted,
		 .fault_handler = clauses_note_fault);
	KUNIT_EXPECT_EQ(test, clauses_call(1), 2);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
	KUNIT_EXPECT_EQ(test, bare_result, 1);
	KUNIT_EXPECT_EQ(test, clauses_told.times, 0);
	/* But for what a handler does by itself. */
	probe.kp.pre_handler = load_unmapped;
	KUNIT_EXPECT_EQ(test, clauses_call(1), 2);
	KUNIT_EXPECT_EQ(test, probe.before, 2);
	KUNIT_EXPECT_EQ(test, clauses_told.times, 1);
}

static int load_unmapped_at_end(struct kretprobe_instance *ri,
				struct pt_regs *regs)
{
	bare_result += clauses_load(UNMAPPED) == -EFAULT;
	return 0;
}

/* They are not called where those from before the call are. */
static void H9_fault_handler_for_handlers_of_returns(struct kunit *test)
{
	static const char * const functions[] = { TARGET, "kprobes_clauses_untraced" };
	int n;

	for (n = 0; n < ARRAY_SIZE(functions); n++) {
		struct kretprobe rp = {
			.kp.symbol_name = functions[n],
			.kp.fault_handler = clauses_note_fault,
			.handler = load_unmapped_at_end,
		};

		clauses_told.times = 0;
		bare_result = 0;
		KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
		KUNIT_EXPECT_EQ(test, clauses_call(1), 2);
		KUNIT_EXPECT_EQ(test, clauses_call_untraced(1), 4);
		KUNIT_EXPECT_EQ(test, bare_result, 1);
		KUNIT_EXPECT_EQ(test, clauses_told.times, 1);
		KUNIT_EXPECT_PTR_EQ(test, clauses_told.probe, &rp.kp);
		KUNIT_EXPECT_EQ(test, clauses_told.ip, (unsigned long)clauses_load_site);
		KUNIT_EXPECT_EQ(test, rp.nmissed, 0);
		unregister_kretprobe(&rp);
	}
}

/* With several at one address, that of the probe whose handler has faulted. */
static void H9_fault_handler_is_the_running_probes(struct kunit *test)
{
	clauses_told.times = 0;
	PROBE_IN(older, clauses_move_site, .pre_handler = load_unmapped,
		 .fault_handler = clauses_note_fault);
	PROBE_IN(newer, clauses_move_site, .fault_handler = clauses_note_fault);
	KUNIT_EXPECT_EQ(test, clauses_move(1), 6);
	KUNIT_EXPECT_EQ(test, older.before, 1);
	KUNIT_EXPECT_EQ(test, clauses_told.times, 1);
	KUNIT_EXPECT_PTR_EQ(test, clauses_told.probe, &older.kp);
}

/* And where the step faults, which is nobody's handler, that of the newest. */
static void H9_fault_handler_in_a_step_is_the_newest(struct kunit *test)
{
	clauses_told.times = 0;
	PROBE_IN(older, clauses_load_site, .fault_handler = clauses_note_fault);
	PROBE_IN(newer, clauses_load_site, .fault_handler = clauses_note_fault);
	KUNIT_EXPECT_EQ(test, clauses_load(UNMAPPED), -EFAULT);
	KUNIT_EXPECT_EQ(test, clauses_told.times, 1);
	KUNIT_EXPECT_PTR_EQ(test, clauses_told.probe, &newer.kp);
	/* One that is disabled is not asked. */
	KUNIT_ASSERT_EQ(test, disable_kprobe(&newer.kp), 0);
	KUNIT_EXPECT_EQ(test, clauses_load(UNMAPPED), -EFAULT);
	KUNIT_EXPECT_EQ(test, clauses_told.times, 2);
	KUNIT_EXPECT_PTR_EQ(test, clauses_told.probe, &older.kp);
}

static void H9_fault_handler_is_not_asked_for_missed_hits(struct kunit *test)
{
	clauses_told.times = 0;
	PROBE_IN(inner, clauses_load_site, .fault_handler = clauses_note_fault);
	PROBE_IN(outer, clauses_move_site, .pre_handler = load_unmapped);
	KUNIT_EXPECT_EQ(test, clauses_move(1), 6);
	KUNIT_EXPECT_EQ(test, outer.before, 1);
	KUNIT_EXPECT_EQ(test, inner.kp.nmissed, 1);
	KUNIT_EXPECT_EQ(test, clauses_told.times, 0);
}

static int load_unmapped_again(struct kprobe *kp, struct pt_regs *regs,
			       int trapnr)
{
	/* It would call itself for ever. */
	if (!clauses_told.times++)
		bare_result += clauses_load(UNMAPPED) == -EFAULT;
	return 0;
}

/* Its own hits are missed, also where the instruction has faulted. */
static void H9_fault_handler_may_hit_its_probe(struct kunit *test)
{
	clauses_told.times = 0;
	bare_result = 0;
	PROBE_IN(probe, clauses_load_site, .fault_handler = load_unmapped_again);
	KUNIT_EXPECT_EQ(test, clauses_load(UNMAPPED), -EFAULT);
	KUNIT_EXPECT_EQ(test, bare_result, 1);
	KUNIT_EXPECT_EQ(test, clauses_told.times, 1);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
	KUNIT_EXPECT_EQ(test, probe.kp.nmissed, 1);
	/* The CPU is free again. */
	KUNIT_EXPECT_EQ(test, clauses_load(&value), value);
	KUNIT_EXPECT_EQ(test, probe.before, 2);
}
#endif

static struct kunit_case fault_cases[] = {
	KUNIT_CASE(H9_page_fault_is_fixed_up),
	KUNIT_CASE(H9_page_fault_of_user_memory_is_fixed_up),
	KUNIT_CASE(H9_page_fault_is_satisfied),
	KUNIT_CASE(H9_handlers_may_fault),
#ifdef CONFIG_RUST_KPROBES
	KUNIT_CASE(H9_probed_copies_may_fault),
	KUNIT_CASE(H9_step_faults_are_counted),
	KUNIT_CASE(H9_fault_handler_for_handlers),
	KUNIT_CASE(H9_fault_handler_deals_with_it),
	KUNIT_CASE(H9_fault_handler_for_the_step),
	KUNIT_CASE(H9_fault_handler_deals_with_the_step),
	KUNIT_CASE(H9_fault_handler_is_not_asked_for_interrupts),
	KUNIT_CASE(H9_fault_handler_for_handlers_of_returns),
	KUNIT_CASE(H9_fault_handler_is_the_running_probes),
	KUNIT_CASE(H9_fault_handler_in_a_step_is_the_newest),
	KUNIT_CASE(H9_fault_handler_is_not_asked_for_missed_hits),
	KUNIT_CASE(H9_fault_handler_may_hit_its_probe),
#endif
#include "fault_cases.h"
	{}
};

CLAUSES_SUITE(clauses_fault, fault_cases);
