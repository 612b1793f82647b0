/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the storm of jumps hits. Each function is there twice: one that probes
 * are put on, and its twin, which has none and tells what must come out.
 *
 * The place is behind the first instruction, which has four bytes, and is an
 * instruction of six bytes, as the jump.
 */
#include <linux/linkage.h>
#include "arch.h"

	.text
	.balign	64
	.globl	jump_text_begin
jump_text_begin:

.macro FUNCTION name body
SYM_FUNC_START(\name)
	lgr	%r0,%r2
	\body
	br	%r14
SYM_FUNC_END(\name)
.endm

.macro TARGET name
FUNCTION jump_at_\name	BODY_\name
FUNCTION jump_twin_\name BODY_\name
.endm

/* The condition code is changed, and used then. */
.macro BODY_plain
	algfi	%r3,0x9abcdef0
	alcgr	%r4,%r5
	slbgr	%r2,%r1
.endm
TARGET plain

/* It is used, by a carry. */
.macro BODY_cond
	locghi	%r3,-5,3
	alcgr	%r4,%r5
.endm
TARGET cond

/* The function is over behind it, and the condition code is as it was. */
.macro BODY_leave
	lay	%r13,0x12345(%r13)
.endm
TARGET leave

/* It stores, where a caller's frame has room. */
.macro BODY_stack
	stg	%r13,__SF_EMPTY(%r15)
	alcg	%r3,__SF_EMPTY(%r15)
.endm
TARGET stack

.macro BODY_relative
	lgrl	%r1,jump_word
	alcgr	%r2,%r1
.endm
TARGET relative

.macro BODY_one
	llihf	%r4,0x6b707262
.endm
TARGET one

	.globl	jump_text_end
jump_text_end:
	nopr

	.section .rodata
	.balign	8
jump_word:
	.quad	0xfedcba9876543210
