/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the storm of jumps hits. Each function is there twice: one that probes
 * are put on, and its twin, which has none and tells what must come out.
 *
 * The place is behind the first instruction, which has three bytes: a jump
 * there would be over the place. No symbol is within a function, as it would
 * count as one of its own.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/ibt.h>
#include "jumps.h"

	.text

	.balign	64
	.globl	jump_text_begin
jump_text_begin:

.macro FUNCTION name body
SYM_FUNC_START(\name)
	ENDBR
	movq	%rdi, %r10
	\body
SYM_FUNC_END(\name)
.endm

.macro TARGET name
FUNCTION jump_at_\name	BODY_\name
FUNCTION jump_twin_\name BODY_\name
.endm

/* Flags are used, and changed; the jump is over more than it needs. */
.macro BODY_plain
	addq	%rcx, %rax
	adcq	$7, %rdx
	sbbq	%rsi, %rdi
	RET
.endm
TARGET plain

/* One way or the other, by the carry; one leads right behind the jump. */
.macro BODY_cond
	jc	771f
	notq	%rax
771:	incl	%r14d
	RET
.endm
TARGET cond

/* Both ways leave. */
.macro BODY_fork
	jc	771f
	jmp	772f
	.skip	4, 0xcc
771:	negq	%rdx
	RET
772:	incl	%r14d
	RET
.endm
TARGET fork

.macro BODY_away
	decq	%r13
	jmp	771f
	.skip	3, 0xcc
771:	notq	%rsi
	RET
.endm
TARGET away

SYM_FUNC_START_LOCAL(jump_callee)
	movq	(%rsp), %rax
	RET
SYM_FUNC_END(jump_callee)

/* What is called looks where it is to return. */
.macro BODY_call
	notq	%r8
	call	jump_callee
	leaq	771f(%rip), %r9
771:	subq	%r9, %rax
	xorl	%r9d, %r9d
	RET
.endm
TARGET call

.macro BODY_leave
	notq	%rbp
	RET
	.skip	4, 0xcc
.endm
TARGET leave

.macro BODY_rip
	incl	%eax
	addq	jump_word(%rip), %rdx
	sbbq	%rsi, %rdi
	RET
.endm
TARGET rip

/* One instruction is all that the jump is over. */
.macro BODY_one
	movabsq	$0x6b70726f6265735f, %rcx
	addq	%rcx, %rax
	RET
.endm
TARGET one

/* As many as there can be; the stack changes, too. */
.macro BODY_many
	pushq	%rax
	pushfq
	popq	%rdx
	popq	%rcx
	cmc
	adcq	%rbx, %rax
	RET
.endm
TARGET many

	.globl	jump_text_end
jump_text_end:

/* long jump_sleeper(struct sleeper *sleeper): in what it calls it sleeps. */
SYM_FUNC_START(jump_sleeper)
	ENDBR
	subq	$8, %rsp
	call	jump_bed
	addq	$8, %rsp
	RET
SYM_FUNC_END(jump_sleeper)

/* Places for other detours, which are as long as that of jump_sleeper(). */
SYM_FUNC_START(jump_row)
	ENDBR
	.rept	JUMP_ROW
	leaq	5(%rdi), %rax
	movabsq	$0x6b70726f6265735f, %rcx
	.endr
	RET
SYM_FUNC_END(jump_row)

	.section .rodata
	.balign	8
SYM_DATA_LOCAL(jump_word, .quad 0xfedcba9876543210)
