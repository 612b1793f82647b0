/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What target.S of x86 has besides the functions of step.h, and what the cases
 * have to know of x86.
 */
#ifndef _X86_KPROBES_TESTS_TARGET_H
#define _X86_KPROBES_TESTS_TARGET_H

#include <linux/build_bug.h>
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <linux/text-patching.h>
#include <asm/trapnr.h>

struct kunit;

/* Binary modules and scripts rely on these offsets. */
static_assert(offsetof(struct kprobe, hlist) == 0);
static_assert(offsetof(struct kprobe, list) == 16);
static_assert(offsetof(struct kprobe, nmissed) == 32);
static_assert(offsetof(struct kprobe, addr) == 40);
static_assert(offsetof(struct kprobe, symbol_name) == 48);
static_assert(offsetof(struct kprobe, offset) == 56);
static_assert(offsetof(struct kprobe, pre_handler) == 64);
static_assert(offsetof(struct kprobe, post_handler) == 72);
static_assert(offsetof(struct kprobe, opcode) == 80);
static_assert(offsetof(struct kprobe, ainsn) == 88);
static_assert(offsetof(struct kprobe, flags) == 120);

extern const u8 clauses_load_ss[], clauses_ud2[], clauses_far[];

/* These may fault. */
asmlinkage long clauses_load_zeropad(const void *from);
asmlinkage long clauses_rdmsr(u32 number);
extern const u8 clauses_load_zeropad_site[], clauses_rdmsr_site[];
asmlinkage long clauses_leaf_clac(long value);
asmlinkage long clauses_call_memory(const unsigned long *from, long value);
asmlinkage long clauses_call_user(const unsigned long *from, long value);
extern const u8 clauses_call_memory_site[], clauses_call_memory_out[];
extern const u8 clauses_call_user_site[];

#define MOVE_BYTES	5
#define ROW_STRIDE	96

#define FIRST_BYTES	4
/* A probe behind the first instruction is in the jump. */
#define INSIDE		FIRST_BYTES
#define BEHIND_BYTES	6
/* A jump ignores another stack pointer. */
#define SP_OF(regs)	((regs)->sp)
#define SP_MOVE		0
#define MASK_OF(regs)	((regs)->flags)
#define MASK_BITS	X86_EFLAGS_IF
#define JUMP_BYTES	JMP32_INSN_SIZE
#define OPCODE_BYTE	0
#define JUMP_OPCODE	JMP32_INSN_OPCODE
#define BREAKPOINT_OPCODE	INT3_INSN_OPCODE

#define MARK_BYTES	(IS_ENABLED(CONFIG_X86_KERNEL_IBT) ? 4 : 0)
#define CALL_BYTES	5
#define TRAP_BYTES	1
#define TRAP_IS_NMI	true
#define FTRACE_TRAP_BYTES	1
#define AINSN_BYTES	32
#define HIT_PATH_OF_ARCH						\
	"asm_exc_int3", "exc_int3", "do_int3",				\
	"smp_text_poke_int3_handler", "kprobe_int3_handler",		\
	"exc_page_fault", "ret_from_fork_asm", "secondary_startup_64",	\
	"start_secondary", "cr4_init", "cpu_init_exception_handling"
#define INSIDE_ERRNO	EILSEQ
#define REFUSED_INSNS {						\
	{ hidden(clauses_move_site) + 1, -EILSEQ },		\
	{ clauses_load_ss, -EINVAL },				\
	{ clauses_ud2, -EILSEQ },				\
	{ clauses_far, -EOPNOTSUPP },				\
}

#define PAGE_FAULT	X86_TRAP_PF

/* See fault_cases.h. */
void H9_general_protection_is_fixed_up(struct kunit *test);
void H9_rdmsr_of_no_register_is_fixed_up(struct kunit *test);
void H9_zero_padded_load_is_fixed_up(struct kunit *test);
void H9_fault_of_an_indirect_call(struct kunit *test);
void H9_indirect_call_through_user_memory(struct kunit *test);

/* No address at all: a general protection fault. */
#define OTHER_FAULT	((const long *)(1UL << 62))
#define OTHER_TRAP	X86_TRAP_GP

#endif
