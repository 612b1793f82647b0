/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a storm of return probes hits, as far as all registers are compared:
 * each function is there twice, once for probes, and its twin, which tells what
 * must come out. The second argument is a number, and the result another one.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/frame.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>

	.text
	.balign	64
	.globl	return_text_begin
return_text_begin:

.macro LEAF name
SYM_FUNC_START(\name)
	ENDBR
	leaq	5(%rsi), %rax
	addq	%rcx, %r8
	notq	%r11
	adcq	%r9, %r10
	RET
SYM_FUNC_END(\name)
.endm

LEAF return_at_leaf
LEAF return_twin_leaf
LEAF return_at_inner
LEAF return_twin_inner

.macro OUTER name inner
SYM_FUNC_START(\name)
	ENDBR
	FRAME_BEGIN
	incq	%rsi
	call	\inner
	incq	%rax
	FRAME_END
	RET
SYM_FUNC_END(\name)
.endm

OUTER return_at_outer return_at_inner
OUTER return_twin_outer return_twin_inner

	.globl	return_text_end
return_text_end:
	nop
