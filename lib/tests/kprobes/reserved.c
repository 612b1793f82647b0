// SPDX-License-Identifier: GPL-2.0
/*
 * Text that may not be probed: what others change or trap at, and what hits
 * themselves run through.
 */
#include <linux/bug.h>
#include <linux/hw_breakpoint.h>
#include <linux/jump_label.h>
#include <linux/module.h>
#include <linux/static_call.h>
#include "step.h"

/* A jump label, a static call and a BUG table entry of this module's own. */
static DEFINE_STATIC_KEY_FALSE(reserved_key);

static int __maybe_unused called(void)
{
	return 1;
}

DEFINE_STATIC_CALL(reserved_call, called);

static noinline int __used reserved_text(int value)
{
	WARN_ON(value == 4711);
	if (static_branch_unlikely(&reserved_key))
		value++;
	return value + static_call(reserved_call)();
}

static void R1_10_text_of_others(struct kunit *test)
{
#ifdef CONFIG_JUMP_LABEL
	KUNIT_ASSERT_GE(test, THIS_MODULE->num_jump_entries, 1);
	REFUSED_IN(-EINVAL, jump_entry_code(THIS_MODULE->jump_entries));
#endif
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	struct static_call_site *site = THIS_MODULE->static_call_sites;

	KUNIT_ASSERT_GE(test, THIS_MODULE->num_static_call_sites, 1);
	REFUSED_IN(-EINVAL, (void *)&site->addr + site->addr);
#endif
#ifdef CONFIG_GENERIC_BUG_RELATIVE_POINTERS
	struct bug_entry *bug = THIS_MODULE->bug_table;

	KUNIT_ASSERT_GE(test, THIS_MODULE->num_bugs, 1);
	REFUSED_IN(-EINVAL, (void *)&bug->bug_addr_disp + bug->bug_addr_disp);
#endif
}

#if defined(CONFIG_X86_64) && defined(CONFIG_ARCH_USES_CFI_TRAPS)
static noinline int __used called_through(int (*function)(int value))
{
	return function(1) + 1;
}

/*
 * How the compiler checks where an indirect call leads: a move, an addition and
 * a jump over a trap. The first two tell the kernel what was expected.
 */
static void H6_checks_of_indirect_calls(struct kunit *test)
{
	const u8 *begin = (const u8 *)called_through, *trap = NULL;
	s32 *entry = THIS_MODULE->kcfi_traps;

	for (; entry < THIS_MODULE->kcfi_traps_end && !trap; entry++) {
		const u8 *at = (const u8 *)entry + *entry;

		if (at > begin && at < begin + 64)
			trap = at;
	}
	KUNIT_ASSERT_NOT_NULL(test, trap);
	if (trap[-12] != 0x41 || trap[-11] != 0xba)
		kunit_skip(test, "FineIBT has other checks");
	REFUSED_IN(-EILSEQ, trap - 12);
	REFUSED_IN(-EILSEQ, trap - 6);
	KUNIT_EXPECT_EQ(test, clauses_try(COUNTED_IN(trap - 2)), 0);
	/*
	 * While it boots the kernel may make a TEST of it, which is run where
	 * all is well, and have the jump lead to its last byte, which traps.
	 */
	KUNIT_EXPECT_EQ_MSG(test, clauses_try(COUNTED_IN(trap)),
			    trap[0] == 0x0f ? -EILSEQ : 0, "code: %16ph",
			    trap - 12);
}
#endif

static noinline int __used named_by_macro(int value)
{
	return value + 3;
}
NOKPROBE_SYMBOL(named_by_macro);

static noinline int __kprobes __used in_kprobes_text(int value)
{
	return value + 4;
}

static noinstr int __used in_noinstr_text(int value)
{
	return value + 5;
}

static void R10_own_blacklist_of_a_module(struct kunit *test)
{
	REFUSED_IN(-EINVAL, named_by_macro);
	REFUSED_IN(-EINVAL, in_kprobes_text);
	REFUSED_IN(-EINVAL, in_noinstr_text);
}

static void U8_blacklist_of_the_kernel(struct kunit *test)
{
	/* By NOKPROBE_SYMBOL(), .kprobes.text, .noinstr.text, and entry text. */
	REFUSED_AT(-EINVAL, "notify_die");
	REFUSED_AT(-EINVAL, "get_kprobe");
	REFUSED_AT(-EINVAL, "ct_irq_enter");
#ifdef CONFIG_X86_64
	REFUSED_AT(-EINVAL, "entry_SYSCALL_64");
#elif defined(CONFIG_S390)
	REFUSED_AT(-EINVAL, "system_call");
#endif
}

#ifdef CONFIG_MITIGATION_RETHUNK
/* What handles hits returns by way of it, where the CPU needs that. */
static void U8_return_thunks_are_listed(struct kunit *test)
{
	REFUSED_AT(-EINVAL, "__x86_return_thunk");
#ifdef CONFIG_MITIGATION_SRSO
	REFUSED_AT(-EINVAL, "srso_safe_ret");
	REFUSED_AT(-EINVAL, "srso_return_thunk");
	REFUSED_AT(-EINVAL, "srso_untrain_ret");
#endif
}
#endif

static void U8_whole_functions_are_listed(struct kunit *test)
{
	int offset;

	/* Refused before anybody asks where instructions start. */
	for (offset = 1; offset < 8; offset++)
		REFUSED_AT(-EINVAL, "notify_die", .offset = offset);
}

#ifdef CLAUSES_TARGET
/* The way of a breakpoint: none of it may be probed. */
static void H12_hit_path_cannot_be_probed(struct kunit *test)
{
	static const char * const path[] = {
		HIT_PATH_OF_ARCH, "get_kprobe", "notify_die",
#ifdef CONFIG_RUST_KPROBES
		"kprobe_fault_handler", "kprobe_original_ip",
		"kprobe_busy_begin",
#endif
	};
	int n;

	for (n = 0; n < ARRAY_SIZE(path); n++) {
		int err = clauses_try(COUNTED_AT(path[n]));

		/* What the compiler has inlined has no symbol. */
		if (err != -ENOENT)
			KUNIT_EXPECT_EQ_MSG(test, err, -EINVAL, "%s", path[n]);
	}
}
#endif

#ifdef CONFIG_X86_64
/* U8: what was split from a function shares its fate. See target.S. */
static void U8_split_part_shares_the_fate(struct kunit *test)
{
	REFUSED_AT(-EINVAL, "clauses_split.cold");
	PROBE_AT(probe, "clauses_free.cold");
}

static void R1_10_preambles(struct kunit *test)
{
	/* Where the compiler makes some, the kernel minds others. */
	REFUSED_AT(-EINVAL, IS_ENABLED(CONFIG_CFI) ?
		   "__cfi_kprobes_clauses_target" : "__cfi_clauses_none");
	REFUSED_AT(-EINVAL, "__pfx_clauses_none");
}
#endif

#if defined(CONFIG_X86_64) && defined(CONFIG_HAVE_HW_BREAKPOINT)
static int break_at(const void *address)
{
	struct perf_event * __percpu *events;
	struct perf_event_attr attr;

	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)address;
	attr.bp_type = HW_BREAKPOINT_X;
	attr.bp_len = sizeof(long);
	events = register_wide_hw_breakpoint(&attr, NULL, NULL);
	if (IS_ERR_PCPU(events))
		return PTR_ERR_PCPU(events);
	unregister_wide_hw_breakpoint(events);
	return 0;
}

/* Breakpoints of the CPU's own ask the same list. */
static void U8_hardware_breakpoints(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, break_at(kprobes_clauses_target), 0);
	KUNIT_EXPECT_EQ(test, break_at(named_by_macro), -EINVAL);
	KUNIT_EXPECT_EQ(test, break_at(in_kprobes_text), -EINVAL);
	KUNIT_EXPECT_EQ(test, break_at(in_noinstr_text), -EINVAL);
}
#endif

static struct kunit_case reserved_cases[] = {
	KUNIT_CASE(R1_10_text_of_others),
#if defined(CONFIG_X86_64) && defined(CONFIG_ARCH_USES_CFI_TRAPS)
	KUNIT_CASE(H6_checks_of_indirect_calls),
#endif
	KUNIT_CASE(R10_own_blacklist_of_a_module),
	KUNIT_CASE(U8_blacklist_of_the_kernel),
#ifdef CONFIG_MITIGATION_RETHUNK
	KUNIT_CASE(U8_return_thunks_are_listed),
#endif
	KUNIT_CASE(U8_whole_functions_are_listed),
#ifdef CLAUSES_TARGET
	KUNIT_CASE(H12_hit_path_cannot_be_probed),
#endif
#ifdef CONFIG_X86_64
	KUNIT_CASE(U8_split_part_shares_the_fate),
	KUNIT_CASE(R1_10_preambles),
#endif
#if defined(CONFIG_X86_64) && defined(CONFIG_HAVE_HW_BREAKPOINT)
	KUNIT_CASE(U8_hardware_breakpoints),
#endif
	{}
};

CLAUSES_SUITE(clauses_reserved, reserved_cases);
