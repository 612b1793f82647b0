/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is probed, one function per way of running the probed instruction, and
 * the loop that calls it. In assembly, so that the figures do not move with
 * the compiler.
 */
#include <linux/linkage.h>
#include <asm/asm-extable.h>

	.text

/* void bench_calls(void (*function)(void), unsigned int times) */
SYM_FUNC_START(bench_calls)
	stmg	%r12,%r15,96(%r15)
	aghi	%r15,-160
	lgr	%r12,%r2
	lr	%r13,%r3
1:	basr	%r14,%r12
	brct	%r13,1b
	lmg	%r12,%r15,256(%r15)
	br	%r14
SYM_FUNC_END(bench_calls)

/* Runs as a copy. */
SYM_FUNC_START(bench_mov)
	lgfi	%r2,0x6b70726f
SYM_INNER_LABEL(bench_mov_return, SYM_L_GLOBAL)
	br	%r14
SYM_FUNC_END(bench_mov)

/* The same again, called by a handler. */
SYM_FUNC_START(bench_inner)
	lgfi	%r2,0x6b70726f
	br	%r14
SYM_FUNC_END(bench_inner)

SYM_FUNC_START(bench_short)
	lgr	%r2,%r3
	br	%r14
SYM_FUNC_END(bench_short)

SYM_FUNC_START(bench_jmp)
	j	1f
	nopr
1:	br	%r14
SYM_FUNC_END(bench_jmp)

SYM_FUNC_START_LOCAL(bench_leaf)
	br	%r1
SYM_FUNC_END(bench_leaf)

SYM_FUNC_START(bench_call)
	brasl	%r1,bench_leaf
	br	%r14
SYM_FUNC_END(bench_call)

SYM_FUNC_START(bench_ret)
	br	%r14
SYM_FUNC_END(bench_ret)

/* A trap for which the kernel only looks into the exception table: a division by 0. */
SYM_FUNC_START(bench_trap)
	lghi	%r1,0
	dr	%r2,%r1
1:	br	%r14
	EX_TABLE(1b, 1b)
SYM_FUNC_END(bench_trap)

/* A breakpoint of nobody's: taken by a die notifier of the module. */
SYM_FUNC_START(bench_notified)
	.short	0x0002
	br	%r14
SYM_FUNC_END(bench_notified)

/* Data exceptions, which come as a register is what it is. */
	.balign	4096
SYM_CODE_START(bench_marks)
	.rept	256
	.balign	16
	crt	%r2,%r2,8
1:	br	%r14
	EX_TABLE(1b, 1b)
	.endr
SYM_CODE_END(bench_marks)
