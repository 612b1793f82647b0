/* SPDX-License-Identifier: GPL-2.0 */
/* Cases of s390 in the suite of lib/tests/kprobes/fault.c. */
KUNIT_CASE(H9_partial_copy_is_fixed_up),
KUNIT_CASE(H9_protection_fault_is_fixed_up),
#ifdef CONFIG_RUST_KPROBES
KUNIT_CASE(H9_resolved_protection_fault_runs_again),
#endif
KUNIT_CASE(H9_satisfied_fault_does_not_end_the_step),
