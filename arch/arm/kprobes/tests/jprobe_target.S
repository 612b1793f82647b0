/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that the arm cases of jprobes probe, and handlers that a compiler
 * would not make.
 */
#include <linux/linkage.h>
#include <asm/assembler.h>

	.text

/* The words on the stack that the cases pass: two arguments, and a structure. */
#define WORDS	10

	.macro sum_of_all
	/* By powers of three, so that no two arguments can change places. */
	.irp	register, r1, r2, r3
	add	r0, r0, r0, lsl #1
	add	r0, r0, \register
	.endr
	.set	word, 0
	.rept	WORDS
	ldr	r1, [sp, #(4 * word)]
	add	r0, r0, r0, lsl #1
	add	r0, r0, r1
	.set	word, word + 1
	.endr
	.endm

/*
 * long f(long, ...): the sum of all, each three times the next. The first
 * instruction is copied, and the copy goes on by itself.
 */
SYM_FUNC_START(clauses_jprobe_boosted)
	mov	ip, r0
	sum_of_all
	ret	lr
SYM_FUNC_END(clauses_jprobe_boosted)

/* The same. It is emulated. */
SYM_FUNC_START(clauses_jprobe_emulated)
	b	1f
	nop
1:	sum_of_all
	ret	lr
SYM_FUNC_END(clauses_jprobe_emulated)

/* The same. It reads the mask of interrupts: emulated under a post handler. */
SYM_FUNC_START(clauses_jprobe_stepped)
	mrs	ip, cpsr
	sum_of_all
	ret	lr
SYM_FUNC_END(clauses_jprobe_stepped)

	.macro spoil_all
	mov_l	r1, clauses_jprobe_spoiled
	ldr	r0, [r1]
	add	r0, r0, #1
	str	r0, [r1]
	mvn	r0, #0
	.set	word, 0
	.rept	WORDS
	str	r0, [sp, #(4 * word)]
	.set	word, word + 1
	.endr
	.irp	register, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, ip
	mvn	\register, #0
	.endr
	.endm

/* A handler that changes all registers and arguments, and returns. */
SYM_FUNC_START(clauses_jprobe_spoil)
	spoil_all
	ret	lr
SYM_FUNC_END(clauses_jprobe_spoil)

/* The same, of the old form, from deeper on the stack. */
SYM_FUNC_START(clauses_jprobe_spoil_old)
	spoil_all
	sub	sp, sp, #64
	bl	jprobe_return
	b	.
SYM_FUNC_END(clauses_jprobe_spoil_old)

	.bss
	.balign	4
SYM_DATA(clauses_jprobe_spoiled, .long 0)
