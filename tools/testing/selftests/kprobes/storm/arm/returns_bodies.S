/* SPDX-License-Identifier: GPL-2.0 */
/* The functions of returns_targets.S. */
#include "arch.h"

 ARM(	.arm	)
 THUMB(	.thumb	)

.macro LEAF name
FUNCTION_BEGIN \name
	add	r0, r1, #5
	adds	r2, r2, r3
	adc	ip, ip, r3
	bx	lr
FUNCTION_END \name
.endm

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
