/* SPDX-License-Identifier: GPL-2.0 */
/* The functions of returns_targets.S. */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/frame.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>

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
