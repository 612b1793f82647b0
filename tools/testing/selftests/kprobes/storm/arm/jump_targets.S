/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the storm of jumps hits. Each function is there twice: one that probes
 * are put on, and its twin, which has none and tells what must come out.
 *
 * The place is behind the first instruction, and is one instruction, as the jump.
 */
#include "arch.h"

	.text
	.arm
	.balign	64
	.globl	jump_text_begin
jump_text_begin:

.macro FUNCTION name body
FUNCTION_BEGIN \name
	mov	ip, r0
	\body
	bx	lr
FUNCTION_END \name
.endm

.macro TARGET name
FUNCTION jump_at_\name	BODY_\name
FUNCTION jump_twin_\name BODY_\name
.endm

/* The flags are changed, and used then. */
.macro BODY_plain
	adds	r1, r1, #0x9a000000
	adc	r2, r2, r3
	sbc	r0, r0, r4
.endm
TARGET plain

/* A flag says whether it is executed, and so whether the jump is. */
.macro BODY_cond
	movcc	r1, #5
	adc	r2, r2, r3
.endm
TARGET cond

/* The function is over behind it, and the flags are as they were. */
.macro BODY_leave
	add	ip, ip, #0x12000
.endm
TARGET leave

/* It reads what storm_run() has on its stack. */
.macro BODY_load
	ldr	r1, [sp, #2*4]
	adc	r2, r2, r1
.endm
TARGET load

/* Other flags are changed, and used then. */
.macro BODY_media
	uadd8	r1, r1, r2
	sel	r2, r3, r1
.endm
TARGET media

.macro BODY_one
	movw	r1, #0x6b72
.endm
TARGET one

	.globl	jump_text_end
jump_text_end:
	nop
