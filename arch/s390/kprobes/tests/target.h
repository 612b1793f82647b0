/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What target.S of s390 has besides the functions of step.h, and what the cases
 * have to know of s390.
 */
#ifndef _S390_KPROBES_TESTS_TARGET_H
#define _S390_KPROBES_TESTS_TARGET_H

#include <linux/kprobes.h>
#include <linux/linkage.h>

struct kunit;

/* Instructions that are refused: see target.S. */
extern const u8 clauses_ex[], clauses_bsm[], clauses_bassm[], clauses_diag[];
extern const u8 clauses_pr[], clauses_pc[], clauses_pt[], clauses_bakr[];
extern const u8 clauses_bsa[], clauses_bsg[], clauses_tbegin[], clauses_tend[];
extern const u8 clauses_unknown[], clauses_zero[];
extern const u8 clauses_lpsw[], clauses_lpswe[], clauses_lpswey[], clauses_rp[], clauses_pti[];
extern const u8 clauses_trap2[], clauses_trap4[], clauses_svc[], clauses_sam31[];

/* The value plus five; an EXRL has a part in it. */
asmlinkage long clauses_exrl(long value);
extern const u8 clauses_exrl_site[], clauses_exrl_target[];

/* To where the word behind @to leads: the value plus five. */
asmlinkage long clauses_bic(long value, const void *to);
extern const u8 clauses_bic_site[], clauses_bic_next[];

/* System masks: that of the operand, before, within and after the instruction. */
struct clauses_masks {
	u8 operand;
	u8 stored;
	u8 before;
	u8 after;
	u32 extracted[2];
};

asmlinkage void clauses_ssm(struct clauses_masks *masks);
asmlinkage void clauses_stnsm(struct clauses_masks *masks);
asmlinkage void clauses_stosm(struct clauses_masks *masks);
asmlinkage void clauses_epsw(struct clauses_masks *masks);
extern const u8 clauses_ssm_site[], clauses_stnsm_site[];
extern const u8 clauses_stosm_site[], clauses_epsw_site[];

/* Control registers 9 to 11 are stored; are loaded, and what is there stored. */
asmlinkage void clauses_stctg(u64 *to);
asmlinkage void clauses_lctlg(u64 *from);
extern const u8 clauses_stctg_site[], clauses_lctlg_site[];

/* As clauses_load_user(), where the exception table knows nothing. */
asmlinkage long clauses_touch_user(const long *from);
extern const u8 clauses_touch_user_site[], clauses_touch_user_out[];

asmlinkage long clauses_store(const long *to);
extern const u8 clauses_store_site[];

/* How many bytes of so many were copied. */
asmlinkage long clauses_copy_user(void *to, const void *from, long bytes);
extern const u8 clauses_copy_user_site[];

#define MOVE_BYTES	6
#define ROW_STRIDE	128

/* The jump is BRCL. */
#define FIRST_BYTES	6
#define BEHIND_BYTES	6
#define SP_OF(regs)	((regs)->gprs[15])
#define SP_MOVE		16
#define MASK_OF(regs)	((regs)->psw.mask)
#define MASK_BITS	(0x03ul << 56)
#define JUMP_BYTES	6
#define ANOTHER_JUMP	6
#define OPCODE_BYTE	0
#define JUMP_OPCODE	0xc0
#define BREAKPOINT_OPCODE	0

#define PLACES {							\
	{ "branch", clauses_call_site, KPROBE_NO_JUMP_EMULATED },	\
	{ "short", clauses_move_site, KPROBE_NO_JUMP_SHORT_INSN },	\
	{ "relative", clauses_rip_site },				\
	{ "exrl", clauses_exrl_site },					\
	{ "may_fault", clauses_load_site, KPROBE_NO_JUMP_MAY_FAULT },	\
	{ "plain", optimize_plain },					\
}

#define MARK_BYTES	0
#define CALL_BYTES	6
#define TRAP_BYTES	2
#define TRAP_IS_NMI	false
#define FTRACE_TRAP_BYTES	0
#define AINSN_BYTES	8
#define HIT_PATH_OF_ARCH						\
	"pgm_check_handler", "__do_pgm_check", "kprobe_pgm_check",	\
	"do_dat_exception"
#define INSIDE_ERRNO	EINVAL
#define REFUSED_INSN(at)	{ hidden(at), -EINVAL }
#define REFUSED_INSNS {							\
	REFUSED_INSN(clauses_move_site + 1),				\
	REFUSED_INSN(clauses_move_site + 2),				\
	REFUSED_INSN(clauses_rip_site + 1),				\
	REFUSED_INSN(clauses_rip_site + 2),				\
	REFUSED_INSN(clauses_rip_site + 4),				\
	REFUSED_INSN(clauses_ex), REFUSED_INSN(clauses_bsm),		\
	REFUSED_INSN(clauses_bassm), REFUSED_INSN(clauses_diag),	\
	REFUSED_INSN(clauses_pr), REFUSED_INSN(clauses_pc),		\
	REFUSED_INSN(clauses_pt), REFUSED_INSN(clauses_bakr),		\
	REFUSED_INSN(clauses_bsa), REFUSED_INSN(clauses_bsg),		\
	REFUSED_INSN(clauses_tbegin), REFUSED_INSN(clauses_tend),	\
	REFUSED_INSN(clauses_unknown), REFUSED_INSN(clauses_zero),	\
}

#define PAGE_FAULT	14

/* A fault by another code: no table is there that could have the page. */
#define OTHER_FAULT	((const long *)(1UL << 62))
#define OTHER_TRAP	PAGE_FAULT

/* See fault_cases.h. */
void H9_partial_copy_is_fixed_up(struct kunit *test);
void H9_protection_fault_is_fixed_up(struct kunit *test);
void H9_resolved_protection_fault_runs_again(struct kunit *test);
void H9_satisfied_fault_does_not_end_the_step(struct kunit *test);

#endif
