/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a storm hits: functions that add five to their argument, each with an
 * instruction at its site that is carried out in another way.
 */
#include <linux/linkage.h>
#include "arch.h"

	.text

/* The frame: what struct storm_registers has, then the arguments. */
#define REGISTERS	STACK_FRAME_OVERHEAD
#define FLAGS		(REGISTERS + 15*8)
#define ARGUMENTS	(REGISTERS + 16*8)
#define FRAME_SIZE	(ARGUMENTS + 3*8)

/*
 * void storm_run(struct storm_registers *registers, const void *function,
 * long times): it runs with these, then with what it has left, and so on; what
 * it leaves in the end comes back.
 */
SYM_FUNC_START(storm_run)
	stmg	%r6,%r15,__SF_GPRS(%r15)
	lgr	%r1,%r15
	lay	%r15,-FRAME_SIZE(%r15)
	stg	%r1,__SF_BACKCHAIN(%r15)
	stmg	%r2,%r4,ARGUMENTS(%r15)
	mvc	REGISTERS(16*8,%r15),0(%r2)
1:	lg	%r14,FLAGS(%r15)
	spm	%r14
	lmg	%r0,%r13,REGISTERS(%r15)
	lg	%r14,(ARGUMENTS+8)(%r15)
	basr	%r14,%r14
SYM_INNER_LABEL(storm_came_back, SYM_L_GLOBAL)
SYM_INNER_LABEL(storm_came_back_once, SYM_L_GLOBAL)
	stmg	%r0,%r14,REGISTERS(%r15)
	lghi	%r1,0
	ipm	%r1
	stg	%r1,FLAGS(%r15)
	lg	%r4,(ARGUMENTS+16)(%r15)
	aghi	%r4,-1
	stg	%r4,(ARGUMENTS+16)(%r15)
	jnz	1b
	lg	%r2,ARGUMENTS(%r15)
	mvc	0(16*8,%r2),REGISTERS(%r15)
	lmg	%r6,%r15,(FRAME_SIZE+__SF_GPRS)(%r15)
	br	%r14
SYM_FUNC_END(storm_run)

	.balign	64
	.globl	storm_text_begin
storm_text_begin:

/* The instruction is like no other in the kernel, so a copy of it shows. */
SYM_FUNC_START(storm_move)
SYM_INNER_LABEL(L0storm_move_site, SYM_L_GLOBAL)
	llihf	%r1,0x6b707262
	aghi	%r2,5
	br	%r14
SYM_FUNC_END(storm_move)

SYM_FUNC_START(storm_relative)
SYM_INNER_LABEL(L0storm_relative_site, SYM_L_GLOBAL)
	lgrl	%r1,storm_five
	agr	%r2,%r1
	br	%r14
SYM_FUNC_END(storm_relative)

/* Turns interrupts off and on. A caller's frame has room for that. */
SYM_FUNC_START(storm_mask)
SYM_INNER_LABEL(L0storm_mask_site, SYM_L_GLOBAL)
	stnsm	__SF_EMPTY(%r15),0xfc
	aghi	%r2,5
	ssm	__SF_EMPTY(%r15)
	br	%r14
SYM_FUNC_END(storm_mask)

SYM_FUNC_START(storm_jump)
SYM_INNER_LABEL(L0storm_jump_site, SYM_L_GLOBAL)
	j	1f
	nopr
1:	aghi	%r2,5
	br	%r14
SYM_FUNC_END(storm_jump)

SYM_FUNC_START_LOCAL(storm_leaf)
	aghi	%r2,5
	br	%r14
SYM_FUNC_END(storm_leaf)

SYM_FUNC_START(storm_calls)
	FRAME_BEGIN
SYM_INNER_LABEL(L0storm_call_site, SYM_L_GLOBAL)
	brasl	%r14,storm_leaf
	FRAME_END
	br	%r14
SYM_FUNC_END(storm_calls)

SYM_FUNC_START(storm_return)
	aghi	%r2,5
SYM_INNER_LABEL(L0storm_return_site, SYM_L_GLOBAL)
	br	%r14
SYM_FUNC_END(storm_return)

/*
 * Reads a per-CPU variable as this_cpu_add() changes one. A task that is put
 * aside between the addition and the end may go on elsewhere: the exit from the
 * interrupt corrects the register.
 */
SYM_FUNC_START(storm_percpu)
	lgrl	%r5,storm_percpu_at
SYM_INNER_LABEL(L0storm_open_site, SYM_L_GLOBAL)
	mviy	ARCH_PERCPU_REGISTER(%r0),5
SYM_INNER_LABEL(L0storm_add_site, SYM_L_GLOBAL)
	ag	%r5,__LC_PERCPU_OFFSET(%r0)
SYM_INNER_LABEL(L0storm_use_site, SYM_L_GLOBAL)
	ag	%r2,0(%r5)
SYM_INNER_LABEL(L0storm_close_site, SYM_L_GLOBAL)
	mviy	ARCH_PERCPU_REGISTER(%r0),0
	br	%r14
SYM_FUNC_END(storm_percpu)

	.globl	storm_text_end
storm_text_end:
	nopr

	.section .data, "aw"
	.balign	8
storm_five:
	.quad	5
storm_percpu_at:
	.quad	storm_percpu_five

	.section .data..percpu, "aw"
	.balign	8
storm_percpu_five:
	.quad	5
