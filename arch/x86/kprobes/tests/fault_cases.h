/* SPDX-License-Identifier: GPL-2.0 */
/* Cases of x86 in the suite of lib/tests/kprobes/fault.c. */
KUNIT_CASE(H9_general_protection_is_fixed_up),
KUNIT_CASE(H9_rdmsr_of_no_register_is_fixed_up),
KUNIT_CASE(H9_zero_padded_load_is_fixed_up),
#ifdef CONFIG_RUST_KPROBES
KUNIT_CASE(H9_fault_of_an_indirect_call),
KUNIT_CASE(H9_indirect_call_through_user_memory),
#endif
