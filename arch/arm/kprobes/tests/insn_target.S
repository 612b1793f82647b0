/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Instructions that C refuses, or runs wrongly: see insn.c.
 */
#include <asm/assembler.h>
#include <asm/unified.h>

#define FUNCTION_BEGIN
#define FUNCTION_RETURN	bx	lr
#include "functions.h"

	.text
	.arch	armv7-a
	.arch_extension idiv
	.arch_extension virt

/* long f(long value): something of the value, whatever. */
.macro PLAIN name, insn:vararg
FUNCTION insn_\name
	mov	r1, #3
	cmp	r0, r1
LABEL insn_\name\()_site
	\insn
	addcs	r0, r0, #1
END insn_\name
.endm

PLAIN sdiv,	sdiv	r0, r0, r1
PLAIN udiv,	udiv	r0, r0, r1
PLAIN dmb,	dmb	ish
PLAIN dsb,	dsb	ish
PLAIN isb,	isb
PLAIN msr,	msr	cpsr_f, r0
PLAIN ubfx,	ubfx	r0, r0, #3, #4

/* This CPU's distance, which is the same in the second read. */
FUNCTION insn_mrc
LABEL insn_mrc_site
	mrc	p15, 0, r1, c13, c0, 4
	mrc	p15, 0, r2, c13, c0, 4
	sub	r1, r1, r2
	add	r0, r0, r1
END insn_mrc

/* void insn_store_to(const unsigned char *to): nobody expects it to fault. */
FUNCTION insn_store_to
LABEL insn_store_to_site
	strb	r1, [r0]
END insn_store_to

/* PC is eight bytes ahead, or four; then the code there is A32. */
	.balign	4
FUNCTION insn_bx_pc
LABEL insn_bx_pc_site
	bx	pc
 ARM(	mvn	r0, #0			)
 THUMB(	mvns	r0, r0			)
	.arm
	add	r0, r0, #5
	bx	lr
 THUMB(	.thumb				)
END insn_bx_pc

/* The register moves SP behind the store, by nothing. Thumb has constants only. */
FUNCTION insn_store
	sub	sp, sp, #8
	mov	r1, #0
LABEL insn_store_site
 ARM(	str	r0, [sp], r1		)
 THUMB(	str	r0, [sp], #0		)
	ldr	r0, [sp]
	add	sp, sp, #8
END insn_store

/* More than C leaves room for below SP. */
.macro DEEP name, store, load
FUNCTION insn_\name
	sub	r1, sp, #128
LABEL insn_\name\()_site
	\store	[sp, #-128]!
	\load	[r1]
	add	sp, sp, #128
END insn_\name
.endm

DEEP deep,	"str	r0,", "ldr	r0,"
DEEP deep_byte,	"strb	r0,", "ldrb	r0,"
DEEP deep_half,	"strh	r0,", "ldrh	r0,"
DEEP deep_two,	"strd	r0, r1,", "ldrd	r0, r1,"

/* long insn_condition(long value): adds five if it is zero. */
FUNCTION insn_condition
	cmp	r0, #0
	it	eq
LABEL insn_condition_site
	addeq	r0, r0, #5
END insn_condition

/*
 * void f(u32 *psr): CPSR before, as the instruction reads it, and behind it. Returns
 * with interrupts masked: one would tell lockdep that they are on.
 * A task may go on with asynchronous aborts masked when it was switched to in
 * an interrupt, thus they are unmasked here.
 */
.macro MASK name, insn:vararg
FUNCTION insn_\name
	mov	r2, #0
	msr	cpsr_fsx, r2
	mrs	r1, cpsr
	str	r1, [r0]
	orr	r3, r1, #PSR_I_BIT
LABEL insn_\name\()_site
	\insn
	str	r2, [r0, #4]
	mrs	r2, cpsr
	str	r2, [r0, #8]
	msr	cpsr_c, r3
END insn_\name
.endm

MASK mrs,	mrs	r2, cpsr
MASK cpsid,	cpsid	i
MASK cpsie,	cpsie	i
MASK msr_c,	msr	cpsr_c, r3

/*
 * long insn_exclusive(long *value): adds five to it. No labels: each would be
 * the begin of a function of its own.
 */
FUNCTION insn_exclusive
1:	ldrex	r1, [r0]
	add	r1, r1, #5
	strex	r2, r1, [r0]
	cmp	r2, #0
	bne	1b
	mov	r0, r1
END insn_exclusive

/* long insn_literal(long value): adds the word behind it. */
	.balign	4
FUNCTION insn_literal
	W(ldr)	r1, 1f
	W(add)	r0, r0, r1
	bx	lr
 THUMB(	nop				)
1:	.long	5
SYM_FUNC_END(insn_literal)

/* C takes the first for a read of CPSR. */
FUNCTION insn_refused
	bx	lr
LABEL insn_banked_site
	mrs	r0, sp_usr
SYM_FUNC_END(insn_refused)

/* long insn_call(long value): a word of the caller is like CPSR of user mode. */
FUNCTION insn_call
	mov	r1, #USR_MODE
	push	{r1, lr}
	bl	insn_called
	pop	{r1, pc}
SYM_FUNC_END(insn_call)

FUNCTION insn_called
	add	r0, r0, #5
END insn_called
