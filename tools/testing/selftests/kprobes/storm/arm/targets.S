/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a storm hits: functions that add five to their argument, each with an
 * instruction at its site that is carried out in another way.
 */
#include "arch.h"

	.text
 ARM(	.arm	)
 THUMB(	.thumb	)

/* The frame: what struct storm_registers has, then the arguments. */
#define FLAGS		(13*4)
#define ARGUMENTS	(14*4)
#define FRAME_SIZE	(ARGUMENTS + 3*4)

.macro COPY_REGISTERS to from
	.rept	2
	ldmia	\from!, {r4 - r10}
	stmia	\to!, {r4 - r10}
	.endr
.endm

/*
 * void storm_run(struct storm_registers *registers, const void *function,
 * long times): it runs with these, then with what it has left, and so on; what
 * it leaves in the end comes back.
 */
FUNCTION_BEGIN storm_run
	push	{r4 - r11, lr}
 UNWIND(.save	{r4 - r11, lr}		)
	sub	sp, sp, #FRAME_SIZE
 UNWIND(.pad	#FRAME_SIZE		)
	add	r3, sp, #ARGUMENTS
	stmia	r3, {r0 - r2}
	mov	r3, sp
	COPY_REGISTERS r3, r0
1:	ldr	lr, [sp, #FLAGS]
	msr	cpsr_fs, lr
	ldr	lr, [sp, #ARGUMENTS + 4]
	ldmia	sp, {r0 - r12}
	blx	lr
	.globl	storm_came_back, storm_came_back_once
storm_came_back:
storm_came_back_once:
	stmia	sp, {r0 - r12}
	/* Of the flags, what ARCH_FLAGS has. */
	mrs	r0, cpsr
	bic	r0, r0, #0x07000000
	bic	r0, r0, #0x00f00000
	bic	r0, r0, #0x0000ff00
	bic	r0, r0, #0x000000ff
	str	r0, [sp, #FLAGS]
	ldr	r1, [sp, #ARGUMENTS + 8]
	subs	r1, r1, #1
	str	r1, [sp, #ARGUMENTS + 8]
	bne	1b
	ldr	r0, [sp, #ARGUMENTS]
	mov	r3, sp
	COPY_REGISTERS r0, r3
	add	sp, sp, #FRAME_SIZE
	pop	{r4 - r11, pc}
FUNCTION_END storm_run

	.balign	64
	.globl	storm_text_begin
storm_text_begin:

.macro SITE name
	.globl	storm_\name\()_site
storm_\name\()_site:
.endm

/* The instruction is like no other in the kernel, so a copy of it shows. */
FUNCTION_BEGIN storm_move
SITE move
	movw	ip, #0x6b72
	add	r0, r0, #5
	bx	lr
FUNCTION_END storm_move

FUNCTION_BEGIN storm_store
	sub	sp, sp, #8
SITE store
	str	r0, [sp, #4]
	ldr	r0, [sp, #4]
	add	sp, sp, #8
	add	r0, r0, #5
	bx	lr
FUNCTION_END storm_store

FUNCTION_BEGIN storm_word
SITE word
	ldr	r1, storm_five
	add	r0, r0, r1
	bx	lr
	.balign	4
storm_five:
	.long	5
FUNCTION_END storm_word

/* Turns interrupts off and on. */
FUNCTION_BEGIN storm_mask
	mrs	r1, cpsr
SITE mask
	cpsid	i
	add	r0, r0, #5
	msr	cpsr_c, r1
	bx	lr
FUNCTION_END storm_mask

FUNCTION_BEGIN storm_jump
SITE jump
	b	1f
	nop
1:	add	r0, r0, #5
	bx	lr
FUNCTION_END storm_jump

FUNCTION_BEGIN storm_leaf
	add	r0, r0, #5
	bx	lr
FUNCTION_END storm_leaf

FUNCTION_BEGIN storm_calls
	push	{r4, lr}
 UNWIND(.save	{r4, lr}		)
SITE call
	bl	storm_leaf
	pop	{r4, pc}
FUNCTION_END storm_calls

FUNCTION_BEGIN storm_return
	add	r0, r0, #5
SITE return
	bx	lr
FUNCTION_END storm_return

	.globl	storm_text_end
storm_text_end:
	nop
