/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the x86 cases of jprobes probe, and handlers that compiled code would not
 * be. No ftrace here, so these are hit by breakpoints.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>

	.text

/* The words of the stack that a handler has a copy of, above its return address. */
#define WORDS	8

	.macro sum_of_all
	/* By powers of three, so that no two arguments can change places. */
	movq	%rdi, %rax
	.irp	register, rsi, rdx, rcx, r8, r9
	leaq	(%rax, %rax, 2), %rax
	addq	%\register, %rax
	.endr
	.set	word, 1
	.rept	WORDS
	leaq	(%rax, %rax, 2), %rax
	addq	(8 * word)(%rsp), %rax
	.set	word, word + 1
	.endr
	.endm

/*
 * long f(long, long, long, long, long, long, struct { long of[8]; }): the sum of
 * all, each three times the next. The first instruction is copied and goes on
 * by itself.
 */
SYM_FUNC_START(clauses_jprobe_boosted)
	ENDBR
	leaq	(%rax), %rax
	sum_of_all
	RET
SYM_FUNC_END(clauses_jprobe_boosted)

/* The same. It is emulated. */
SYM_FUNC_START(clauses_jprobe_emulated)
	ENDBR
	jmp	1f
	nop
1:	sum_of_all
	RET
SYM_FUNC_END(clauses_jprobe_emulated)

/* The same. It may fault, so its copy comes back. */
SYM_FUNC_START(clauses_jprobe_stepped)
	ENDBR
.Lmay_fault:
	movq	(%rsp), %rax
1:	sum_of_all
	RET
	_ASM_EXTABLE(.Lmay_fault, 1b)
SYM_FUNC_END(clauses_jprobe_stepped)

	.macro spoil_all
	incl	clauses_jprobe_spoiled(%rip)
	.set	word, 1
	.rept	WORDS
	movq	$-1, (8 * word)(%rsp)
	.set	word, word + 1
	.endr
	.irp	register, rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
	movq	$-1, %\register
	.endr
	.endm

/* A handler that leaves nothing as it was, and returns. */
SYM_FUNC_START(clauses_jprobe_spoil)
	ENDBR
	spoil_all
	std
	RET
SYM_FUNC_END(clauses_jprobe_spoil)
STACK_FRAME_NON_STANDARD clauses_jprobe_spoil

/* The same, of the old form, from deeper on the stack. */
SYM_FUNC_START(clauses_jprobe_spoil_old)
	ENDBR
	spoil_all
	subq	$(5 * 8), %rsp
	call	jprobe_return
	addq	$(5 * 8), %rsp
	RET
SYM_FUNC_END(clauses_jprobe_spoil_old)
STACK_FRAME_NON_STANDARD clauses_jprobe_spoil_old

	.bss
	.balign	4
SYM_DATA(clauses_jprobe_spoiled, .long 0)
