/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is probed, one function per way of running the probed instruction, and
 * the loop that calls it. In assembly, so that the figures do not move with
 * the compiler.
 */
#include <linux/linkage.h>

	.text
	.arm

/* void bench_calls(void (*function)(void), unsigned int times) */
SYM_FUNC_START(bench_calls)
	push	{r4, r5, r6, lr}
	mov	r4, r0
	mov	r5, r1
	adr	r6, 2f
1:	blx	r4
2:	subs	r5, r5, #1
	bne	1b
	pop	{r4, r5, r6, pc}
SYM_FUNC_END(bench_calls)

/* Runs as a copy. */
SYM_FUNC_START(bench_mov)
	movw	r2, #0x6b70
SYM_INNER_LABEL(bench_mov_return, SYM_L_GLOBAL)
	bx	lr
SYM_FUNC_END(bench_mov)

/* The same again, called by a handler. */
SYM_FUNC_START(bench_inner)
	movw	r2, #0x6b70
	bx	lr
SYM_FUNC_END(bench_inner)

SYM_FUNC_START(bench_short)
	mov	r2, r3
	bx	lr
SYM_FUNC_END(bench_short)

SYM_FUNC_START(bench_jmp)
	b	1f
	nop
1:	bx	lr
SYM_FUNC_END(bench_jmp)

SYM_FUNC_START_LOCAL(bench_leaf)
	bx	lr
SYM_FUNC_END(bench_leaf)

/* Where it returns to is in the register of bench_calls(). */
SYM_FUNC_START(bench_call)
	bl	bench_leaf
	bx	r6
SYM_FUNC_END(bench_call)

SYM_FUNC_START(bench_ret)
	bx	lr
SYM_FUNC_END(bench_ret)

/* A trap for which the kernel only looks into the exception table: a data abort. */
SYM_FUNC_START(bench_trap)
	movw	r1, #0
	movt	r1, #0xfff2
1:	ldr	r2, [r1]
2:	bx	lr
	.pushsection __ex_table, "a"
	.balign	8
	.long	1b, 2b
	.popsection
SYM_FUNC_END(bench_trap)

SYM_FUNC_START(bench_notified)
	bx	lr
SYM_FUNC_END(bench_notified)
