/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a storm of return probes hits, as far as all registers are compared:
 * each function is there twice, once for probes, and its twin, which tells what
 * must come out. The second argument is a number, and the result another one.
 */
#include <linux/linkage.h>
#include "arch.h"

	.text
	.balign	64
	.globl	return_text_begin
return_text_begin:

.macro LEAF name
SYM_FUNC_START(\name)
	la	%r2,5(%r3)
	algr	%r4,%r5
	alcgr	%r0,%r1
	br	%r14
SYM_FUNC_END(\name)
.endm

LEAF return_at_leaf
LEAF return_twin_leaf
LEAF return_at_inner
LEAF return_twin_inner

.macro OUTER name inner
SYM_FUNC_START(\name)
	FRAME_BEGIN
	la	%r3,1(%r3)
	brasl	%r14,\inner
	la	%r2,1(%r2)
	FRAME_END
	br	%r14
SYM_FUNC_END(\name)
.endm

OUTER return_at_outer return_at_inner
OUTER return_twin_outer return_twin_inner

	.globl	return_text_end
return_text_end:
	nopr
