/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a storm of return probes hits, as far as all registers are compared:
 * each function is there twice, once for probes, and its twin, which tells what
 * must come out. The second argument is a number, and the result another one.
 */
#include "arch.h"

	.text
 ARM(	.arm	)
 THUMB(	.thumb	)
	.balign	64
	.globl	return_text_begin
return_text_begin:

.macro LEAF name
FUNCTION_BEGIN \name
	add	r0, r1, #5
	adds	r2, r2, r3
	adc	ip, ip, r3
	bx	lr
FUNCTION_END \name
.endm

LEAF return_at_leaf
LEAF return_twin_leaf
LEAF return_at_inner
LEAF return_twin_inner

.macro OUTER name inner
FUNCTION_BEGIN \name
	push	{r4, lr}
 UNWIND(.save	{r4, lr}		)
	add	r1, r1, #1
	bl	\inner
	add	r0, r0, #1
	pop	{r4, pc}
FUNCTION_END \name
.endm

OUTER return_at_outer return_at_inner
OUTER return_twin_outer return_twin_inner

	.globl	return_text_end
return_text_end:
	nop
