// SPDX-License-Identifier: GPL-2.0
/*
 * Faults of s390, besides those of lib/tests/kprobes/fault.c.
 */
#include <linux/uaccess.h>
#include "fault.h"

/*
 * Behind the page is nothing. What fixes this up finds the length in the
 * instruction, and has it run again for the bytes that are there.
 */
void H9_partial_copy_is_fixed_up(struct kunit *test)
{
	const u8 *end = (u8 *)clauses_user_page(test) + PAGE_SIZE;
	long copied[2] = {};
	int post;

	KUNIT_ASSERT_EQ(test, put_user(4711L, (long __user *)end - 1), 0);
	for (post = 0; post < 2; post++) {
		PROBE_IN(probe, clauses_copy_user_site, AFTER_IF(post));
		KUNIT_EXPECT_EQ(test, clauses_copy_user(copied, end - 8, 16), 8);
		KUNIT_EXPECT_EQ(test, copied[0], 4711);
		EXPECT_HITS(probe, 2, post);
		copied[0] = 0;
	}
}

/* Of a store to text. The address that is saved is behind the instruction. */
void H9_protection_fault_is_fixed_up(struct kunit *test)
{
	clauses_try_fixup(test, clauses_store_site, clauses_store,
			  (const long *)clauses_row_begin);
}

#ifdef CONFIG_RUST_KPROBES
static long written;

static int lead_elsewhere(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	clauses_note_fault(kp, regs, trapnr);
	regs->gprs[2] = (unsigned long)&written;
	return 1;
}

/* The store is made, though the address that was saved is behind it. */
void H9_resolved_protection_fault_runs_again(struct kunit *test)
{
	written = 0;
	clauses_told.times = 0;
	PROBE_IN(probe, clauses_store_site, .fault_handler = lead_elsewhere,
		 AFTER);
	KUNIT_EXPECT_EQ(test, clauses_store((const long *)clauses_row_begin), 0);
	KUNIT_EXPECT_EQ(test, clauses_told.times, 1);
	KUNIT_EXPECT_EQ(test, clauses_told.ip, (unsigned long)clauses_store_site);
	KUNIT_EXPECT_EQ(test, written, (long)&written);
	EXPECT_HITS(probe, 2, 1);
}
#endif

/* Else a hit of C's that comes again and again would not end. */
static int gives_up(struct kprobe *kp, struct pt_regs *regs)
{
	clauses_before(kp, regs);
	if (container_of(kp, struct counted, kp)->before < 20)
		return 0;
	instruction_pointer_set(regs, (unsigned long)clauses_touch_user_out);
	return 1;
}

/* The page comes, and the instruction runs again, as often as that needs. */
void H9_satisfied_fault_does_not_end_the_step(struct kunit *test)
{
	const unsigned long page = clauses_user_page(test);

	PROBE_IN(probe, clauses_touch_user_site, .pre_handler = gives_up, AFTER);
	KUNIT_EXPECT_EQ(test, clauses_touch_user((const long *)page), 0);
	EXPECT_HITS(probe, 2, 1);
}
