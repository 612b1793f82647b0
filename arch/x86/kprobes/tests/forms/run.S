/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The way into a form, with all registers loaded, and out of it, with all of
 * them stored.
 *
 * Everything happens on the task's own stack, since traps in the form need one
 * that the kernel knows. From high to low:
 *
 *	forms_sp	what forms_run() has pushed
 *	forms_window	the form's part of the stack, FORMS_STACK bytes, where the
 *			caller wants it, FORMS_DISTANCE below at least
 *	LOW		where RSP is while that part is copied, 2048 below that
 *
 * So traps in the form use what is below its RSP, as they would anywhere, and
 * traps while copying touch nothing of it. No instruction between loading and
 * storing changes a flag, or a register before it is stored.
 */
#include <linux/linkage.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>
#include "forms.h"
#include "register-macros.S"

#define LOW	(-2048)

	.text

/* Registers in struct forms_state's order from RBP on; the first four differ. */
#define FROM_RBP	40, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15

/* forms_run(in, out, stub) */
SYM_FUNC_START(forms_run)
	PUSH_ALL CALLEE_SAVED
	pushfq
	movq	%rsi, forms_out(%rip)
	movq	%rdx, forms_entry(%rip)
	movq	%rsp, forms_sp(%rip)
	movq	%rdi, %rbx

	movl	$7, %eax
	xorl	%edx, %edx
	xrstor64 FORMS_XSAVE_AT(%rbx)

	movq	forms_window(%rip), %rdi
	leaq	LOW(%rdi), %rsp
	leaq	FORMS_STACK / 2(%rdi), %rax
	movq	%rax, FORMS_SP(%rbx)
	leaq	FORMS_STACK_AT(%rbx), %rsi
	movl	$(FORMS_STACK / 8), %ecx
	cld
	rep movsq

	pushq	FORMS_FLAGS(%rbx)
	popfq
	LOAD_ALL rbx, 0, rax, rcx, rdx
	movq	FORMS_SP(%rbx), %rsp
	LOAD_ALL rbx, FROM_RBP
	movq	24(%rbx), %rbx
	ANNOTATE_RETPOLINE_SAFE
	jmp	*forms_entry(%rip)
SYM_FUNC_END(forms_run)

SYM_CODE_START(forms_fell)
	ENDBR
	movq	$FORMS_FELL, forms_where(%rip)
	jmp	forms_back
SYM_CODE_END(forms_fell)

SYM_CODE_START(forms_taken)
	ENDBR
	movq	$FORMS_TAKEN, forms_where(%rip)
	jmp	forms_back
SYM_CODE_END(forms_taken)

/*
 * What lies on the stack, for whoever returns there although the form is no
 * RET. Should that be popped into the flags, TF is clear in its address.
 */
	.balign	512
SYM_CODE_START(forms_astray)
	ENDBR
	movq	$FORMS_ASTRAY, forms_where(%rip)
	jmp	forms_back
SYM_CODE_END(forms_astray)

SYM_CODE_START_LOCAL(forms_back)
	movq	%rax, forms_rax(%rip)
	movq	forms_out(%rip), %rax
	STORE_ALL rax, 8, rcx, rdx, rbx
	movq	%rsp, FORMS_SP(%rax)
	STORE_ALL rax, FROM_RBP
	movq	forms_window(%rip), %rsp
	leaq	LOW(%rsp), %rsp
	pushfq
	popq	FORMS_FLAGS(%rax)

	cld
	movq	forms_rax(%rip), %rcx
	movq	%rcx, 0(%rax)
	movq	forms_where(%rip), %rcx
	movq	%rcx, FORMS_WHERE(%rax)
	movq	forms_window(%rip), %rsi
	leaq	FORMS_STACK / 2(%rsi), %rcx
	movq	%rcx, FORMS_FROM_SP(%rax)
	leaq	FORMS_STACK_AT(%rax), %rdi
	movl	$(FORMS_STACK / 8), %ecx
	rep movsq

	movq	%rax, %rbx
	movl	$7, %eax
	xorl	%edx, %edx
	xsave64	FORMS_XSAVE_AT(%rbx)

	movq	forms_sp(%rip), %rsp
	popfq
	POP_ALL	CALLEE_SAVED
	/* objtool does not look at this file, so nobody would patch a thunk. */
	ANNOTATE_UNRET_SAFE
	ret
	int3
SYM_CODE_END(forms_back)

	.bss
	.balign	8
forms_out:	.skip 8
forms_entry:	.skip 8
forms_sp:	.skip 8
forms_where:	.skip 8
forms_rax:	.skip 8

	.globl	forms_window
forms_window:	.skip 8

	.globl	forms_scratch
	.balign	64
forms_scratch:	.skip FORMS_SCRATCH

	.section .note.GNU-stack, "", @progbits
