/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Labels in arm's target.S besides those of step.h, and numbers of arm that the
 * cases use.
 */
#ifndef _ARM_KPROBES_TESTS_TARGET_H
#define _ARM_KPROBES_TESTS_TARGET_H

#include <linux/kprobes.h>

/* Instructions that are refused: see target.S. */
extern const u8 clauses_svc[], clauses_udf[], clauses_bkpt[], clauses_hvc[];
extern const u8 clauses_smc[], clauses_cps[], clauses_setend[], clauses_srs[];
extern const u8 clauses_rfe[], clauses_spsr[], clauses_bxj[], clauses_movs[];
extern const u8 clauses_ldm[], clauses_breakpoint[];

/* Functions of insn_target.S, and the instructions that are probed there. */
typedef long insn_plain_fn(long value);
insn_plain_fn insn_sdiv, insn_udiv, insn_dmb, insn_dsb, insn_isb, insn_msr;
insn_plain_fn insn_ubfx, insn_mrc, insn_bx_pc, insn_store, insn_deep;
insn_plain_fn insn_deep_byte, insn_deep_half, insn_deep_two, insn_condition;
extern const u8 insn_sdiv_site[], insn_udiv_site[], insn_dmb_site[];
extern const u8 insn_dsb_site[], insn_isb_site[], insn_msr_site[];
extern const u8 insn_ubfx_site[], insn_mrc_site[], insn_bx_pc_site[];
extern const u8 insn_store_site[], insn_deep_site[], insn_deep_byte_site[];
extern const u8 insn_deep_half_site[], insn_deep_two_site[];
extern const u8 insn_condition_site[], insn_banked_site[];

typedef void insn_mask_fn(u32 *psr);
insn_mask_fn insn_mrs, insn_cpsid, insn_cpsie, insn_msr_c;
extern const u8 insn_mrs_site[], insn_cpsid_site[], insn_cpsie_site[];
extern const u8 insn_msr_c_site[], insn_store_to_site[];

#define MOVE_BYTES	4
#define ROW_STRIDE	128

/* A jump, B, is over one instruction. The highest byte tells what it is. */
#define FIRST_BYTES	4
#define BEHIND_BYTES	4
#define JUMP_BYTES	4
#define OPCODE_BYTE	3
#define JUMP_OPCODE	0xea
#define BREAKPOINT_OPCODE 0xe7
#define SP_OF(regs)	((regs)->ARM_sp)
#define SP_MOVE		16
#define MASK_OF(regs)	((regs)->ARM_cpsr)
#define MASK_BITS	PSR_I_BIT

#define PLACES {							\
	{ "branch", clauses_jump_site },				\
	{ "call", clauses_call_site },					\
	{ "literal", clauses_rip_site, KPROBE_NO_JUMP_EMULATED },	\
	{ "move", clauses_move_site },					\
	{ "return", clauses_return_site },				\
	{ "may_fault", clauses_load_site, KPROBE_NO_JUMP_MAY_FAULT },	\
	{ "plain", optimize_plain },					\
}

#define MARK_BYTES	0

/* The first instruction of a function, PUSH: ftrace's calls cannot be probed. */
#define CALL_BYTES	(POINTER_BIT ? 2 : 4)

/* The word of an instruction as kprobes has it. */
#define OPCODE(word)							\
	(!POINTER_BIT ? (word) :					\
	 ((word) & 0xf800) < 0xe800 ? (u16)(word) : rol32(word, 16))

#define TRAP_BYTES	0
#define TRAP_IS_NMI	false
#define FTRACE_TRAP_BYTES	0
#define AINSN_BYTES	32
#ifdef CONFIG_RUST_KPROBES
#define REFUSED_BY_OURS							\
	"secondary_start_kernel", "_set_bit", "cpu_v7_proc_init",	\
	"cpu_v7_switch_mm", "v7_early_abort", "v7_pabort",
#else
#define REFUSED_BY_OURS
#endif
#define HIT_PATH_OF_ARCH						\
	REFUSED_BY_OURS "__und_svc", "do_undefinstr",			\
	"kprobe_undefinstr", "__dabt_svc"
#define INSIDE_ERRNO	EINVAL
#define REFUSED_INSN(at)	{ hidden(at), -EINVAL }
#define REFUSED_INSNS {							\
	REFUSED_INSN(clauses_move_site + 1 + 2 * POINTER_BIT),		\
	REFUSED_INSN(clauses_move_site + 2),				\
	REFUSED_INSN(clauses_svc), REFUSED_INSN(clauses_udf),		\
	REFUSED_INSN(clauses_bkpt), REFUSED_INSN(clauses_hvc),		\
	REFUSED_INSN(clauses_smc), REFUSED_INSN(clauses_cps),		\
	REFUSED_INSN(clauses_setend), REFUSED_INSN(clauses_srs),	\
	REFUSED_INSN(clauses_rfe), REFUSED_INSN(clauses_spsr),		\
	REFUSED_INSN(clauses_bxj), REFUSED_INSN(clauses_movs),		\
	REFUSED_INSN(clauses_ldm), REFUSED_INSN(clauses_breakpoint),	\
}

/* The status: at the last level of the page table, in the domain of the vectors. */
#define PAGE_FAULT	(IS_ENABLED(CONFIG_ARM_LPAE) ? 0x207 : 0x37)

/* A fault at the level before: nothing is near. */
#define OTHER_FAULT	((const long *)0xfc000000)
#define OTHER_TRAP	(IS_ENABLED(CONFIG_ARM_LPAE) ? 0x206 : 5)

#endif
