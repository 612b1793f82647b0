/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions for the tests of detours, and what runs them with registers of a
 * test's choice.
 */
#include <linux/linkage.h>
#include <asm/asm-offsets.h>
#include <asm/ptrace.h>

/* struct State in jump/tests.rs: registers 0 to 13, condition code, memory */
#define S_CC		(14 * 8)
#define S_MEMORY	(15 * 8)

/* The frame: the state, memory that the functions use, registers. */
#define F_STATE		STACK_FRAME_OVERHEAD
#define F_MEMORY	(F_STATE + 8)
#define F_GPRS		(F_MEMORY + 8)
#define FRAME_SIZE	(F_GPRS + 14 * 8)

	.section .kprobes.text, "ax"

/* void rust_kprobes_test_run(struct State *state, function) */
SYM_FUNC_START(rust_kprobes_test_run)
	stmg	%r6,%r15,__SF_GPRS(%r15)
	lgr	%r1,%r15
	aghi	%r15,-FRAME_SIZE
	stg	%r1,__SF_BACKCHAIN(%r15)
	stg	%r2,F_STATE(%r15)
	mvc	F_MEMORY(8,%r15),S_MEMORY(%r2)
	/* Where an unwinder looks for the return address of a function without frame. */
	larl	%r1,rust_kprobes_test_ran
	stg	%r1,__SF_GPRS+8*8(%r15)
	lgr	%r14,%r3
	lg	%r1,S_CC(%r2)
	sllg	%r1,%r1,28
	spm	%r1
	lmg	%r0,%r13,0(%r2)
	basr	%r14,%r14
SYM_INNER_LABEL(rust_kprobes_test_ran, SYM_L_GLOBAL)
	stmg	%r0,%r13,F_GPRS(%r15)
	ipm	%r1
	lg	%r2,F_STATE(%r15)
	srl	%r1,28
	llgfr	%r1,%r1
	stg	%r1,S_CC(%r2)
	mvc	0(14*8,%r2),F_GPRS(%r15)
	mvc	S_MEMORY(8,%r2),F_MEMORY(%r15)
	lmg	%r6,%r15,FRAME_SIZE+__SF_GPRS(%r15)
	br	%r14
SYM_FUNC_END(rust_kprobes_test_run)

/* These begin with the instruction that a jump replaces. */
SYM_FUNC_START(rust_kprobes_test_carry)
	alcg	%r3,F_MEMORY(%r15)
	br	%r14
SYM_FUNC_END(rust_kprobes_test_carry)

SYM_FUNC_START(rust_kprobes_test_store)
	stg	%r14,F_MEMORY(%r15)
	lghi	%r14,0
	lg	%r14,F_MEMORY(%r15)
	xc	F_MEMORY(8,%r15),F_MEMORY(%r15)
	br	%r14
SYM_FUNC_END(rust_kprobes_test_store)

SYM_FUNC_START(rust_kprobes_test_relative)
	larl	%r2,rust_kprobes_test_relative
	br	%r14
SYM_FUNC_END(rust_kprobes_test_relative)

SYM_FUNC_START(rust_kprobes_test_executed)
	exrl	%r0,0f
	br	%r14
0:	lgr	%r2,%r3
SYM_FUNC_END(rust_kprobes_test_executed)

/* The word where a called function stores register 14 is in use. */
SYM_FUNC_START(rust_kprobes_test_leaf)
	stmg	%r6,%r14,__SF_GPRS(%r15)
	lghi	%r14,0
SYM_INNER_LABEL(rust_kprobes_test_leaf_probed, SYM_L_GLOBAL)
	lmg	%r6,%r14,__SF_GPRS(%r15)
	br	%r14
SYM_FUNC_END(rust_kprobes_test_leaf)

/* These cannot have a jump. */
SYM_FUNC_START(rust_kprobes_test_short)
	la	%r2,1(%r3)
	br	%r14
SYM_FUNC_END(rust_kprobes_test_short)

SYM_FUNC_START(rust_kprobes_test_branch)
	brcl	8,0f
0:	br	%r14
SYM_FUNC_END(rust_kprobes_test_branch)
