// SPDX-License-Identifier: GPL-2.0
/*
 * Faults of x86, besides those of lib/tests/kprobes/fault.c: general protection
 * faults, and instructions that the kernel or kprobes decode when they fault.
 */
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include "fault.h"

/* C asks the exception table with the address of its copy, and dies. */
void H9_general_protection_is_fixed_up(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_KPROBES_C))
		kunit_skip(test, "known: defect H9 kills the kernel");
	clauses_try_fixup(test, clauses_load_site, clauses_load, OTHER_FAULT);
}

static long rdmsr_x2apic(const long *unused)
{
	return clauses_rdmsr(0x802);
}

void H9_rdmsr_of_no_register_is_fixed_up(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_KPROBES_C))
		kunit_skip(test, "known: defect H9 kills the kernel");
	if (rdmsr_x2apic(NULL) != -EFAULT)
		kunit_skip(test, "this CPU has the register");
	clauses_try_fixup(test, clauses_rdmsr_site, rdmsr_x2apic, NULL);
}

/* What fixes this up decodes the instruction. */
void H9_zero_padded_load_is_fixed_up(struct kunit *test)
{
	const long bare = 0x11223344, whole = 0x1122334455667788;
	u8 *page;
	int post;

	if (IS_ENABLED(CONFIG_KPROBES_C))
		kunit_skip(test, "known: defect H9 kills the kernel");
	page = vzalloc(PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, page);
	memcpy(page + PAGE_SIZE - 4, &bare, 4);
	memcpy(page + PAGE_SIZE - 16, &whole, 8);
	for (post = 0; post < 2; post++) {
		PROBE_IN(probe, clauses_load_zeropad_site, AFTER_IF(post));
		KUNIT_EXPECT_EQ(test, clauses_load_zeropad(page + PAGE_SIZE - 4),
				bare);
		EXPECT_HITS(probe, 1, 0);
		KUNIT_EXPECT_EQ(test, clauses_load_zeropad(page + PAGE_SIZE - 16),
				whole);
		EXPECT_HITS(probe, 2, post);
	}
	vfree(page);
}

#ifdef CONFIG_RUST_KPROBES
static int leave_call(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	clauses_note_fault(kp, regs, trapnr);
	regs->ip = (unsigned long)clauses_call_memory_out;
	return 1;
}

/* What to call stands where nothing can be read, or must not be. */
void H9_fault_of_an_indirect_call(struct kunit *test)
{
	static const unsigned long * const cases[] = {
		NULL, (unsigned long *)(5 * PAGE_SIZE),
		(unsigned long *)UNMAPPED, (unsigned long *)OTHER_FAULT,
	};
	const unsigned long memory[] = { 0, 0, 0, (unsigned long)clauses_leaf };
	int n;

	PROBE_IN(probe, clauses_call_memory_site, .fault_handler = leave_call);
	for (n = 0; n < ARRAY_SIZE(cases); n++) {
		clauses_told.times = 0;
		probe.before = 0;
		KUNIT_EXPECT_EQ(test, clauses_call_memory(cases[n], 1), -EFAULT);
		KUNIT_EXPECT_EQ(test, clauses_told.times, 1);
		KUNIT_EXPECT_EQ(test, clauses_told.ip,
				(unsigned long)clauses_call_memory_site);
		KUNIT_EXPECT_EQ(test, probe.before, 1);
		KUNIT_EXPECT_FALSE(test, irqs_disabled());
	}
	KUNIT_EXPECT_EQ(test, clauses_call_memory(memory, 1), 6);
}

/* It stands in memory of user space, which may be read now. */
void H9_indirect_call_through_user_memory(struct kunit *test)
{
	const unsigned long page = clauses_user_page(test);

	KUNIT_ASSERT_EQ(test, put_user((unsigned long)clauses_leaf_clac,
				       (unsigned long __user *)page + 3), 0);
	PROBE_IN(probe, clauses_call_user_site);
	KUNIT_EXPECT_EQ(test, clauses_call_user((unsigned long *)page, 1), 6);
	KUNIT_EXPECT_EQ(test, probe.before, 1);
}
#endif
