/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the s390 cases of jprobes probe, and handlers that compiled code would
 * not be. No ftrace here, so these are hit by breakpoints.
 */
#include <linux/linkage.h>
#include <asm/asm-offsets.h>
#include <asm/ptrace.h>

	.text

/* The words of the stack that a handler has a copy of, above its frame. */
#define WORDS	8
#define STACKED	STACK_FRAME_OVERHEAD

	.macro sum_of_all
	/* By powers of three, so that no two arguments can change places. */
	lgr	%r1,%r2
	.irp	register, 3, 4, 5, 6
	mghi	%r1,3
	agr	%r1,%r\register
	.endr
	.set	word, 0
	.rept	WORDS
	mghi	%r1,3
	ag	%r1,(STACKED + 8 * word)(%r15)
	.set	word, word + 1
	.endr
	lgr	%r2,%r1
	.endm

/*
 * long f(long, ...): the sum of all thirteen, each three times the next. The first
 * instruction is copied and goes on by itself.
 */
SYM_FUNC_START(clauses_jprobe_boosted)
	lay	%r1,0(%r2)
	sum_of_all
	br	%r14
SYM_FUNC_END(clauses_jprobe_boosted)

/* The same. It is emulated. */
SYM_FUNC_START(clauses_jprobe_emulated)
	j	1f
	nopr	%r7
1:	sum_of_all
	br	%r14
SYM_FUNC_END(clauses_jprobe_emulated)

/* The same. It reads the mask for interrupts, which is emulated as well. */
SYM_FUNC_START(clauses_jprobe_stepped)
	stosm	__SF_EMPTY(%r15),0
	sum_of_all
	br	%r14
SYM_FUNC_END(clauses_jprobe_stepped)

	.macro spoil_all
	larl	%r1,clauses_jprobe_spoiled
	asi	0(%r1),1
	lghi	%r0,-1
	.set	word, 0
	.rept	WORDS
	stg	%r0,(STACKED + 8 * word)(%r15)
	.set	word, word + 1
	.endr
	.irp	register, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
	lghi	%r\register,-1
	.endr
	.endm

/* A handler that leaves nothing as it was, and returns. */
SYM_FUNC_START(clauses_jprobe_spoil)
	spoil_all
	br	%r14
SYM_FUNC_END(clauses_jprobe_spoil)

/* The same, of the old form, from deeper on the stack. */
SYM_FUNC_START(clauses_jprobe_spoil_old)
	spoil_all
	aghi	%r15,-STACK_FRAME_OVERHEAD
	brasl	%r14,jprobe_return
	j	.
SYM_FUNC_END(clauses_jprobe_spoil_old)

	.bss
	.balign	4
SYM_DATA(clauses_jprobe_spoiled, .long 0)
