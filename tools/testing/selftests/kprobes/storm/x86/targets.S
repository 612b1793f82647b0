/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a storm hits: functions that add five to their argument, each with an
 * instruction at its site that is carried out in another way.
 */
#include <linux/annotate.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>
#include "register-macros.S"

	.text

/* In the order of struct storm_registers, with what they come from after them. */
#define REGISTERS							\
	0, rax, rcx, rdx, rbx, rsi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
#define AT_RDI		(14 * 8)
#define AT_FLAGS	(15 * 8)

/*
 * void storm_run(struct storm_registers *registers, const void *function,
 * long times): it runs with these, then with what it has left, and so on; what
 * it leaves in the end comes back.
 */
SYM_FUNC_START(storm_run)
	ENDBR
	PUSH_ALL CALLEE_SAVED
	pushfq
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	AT_FLAGS(%rdi)
	LOAD_ALL rdi, REGISTERS
	movq	AT_RDI(%rdi), %rdi
	/* flags, times, function, registers */
1:	decq	8(%rsp)
	jz	2f
	popfq
	ANNOTATE_RETPOLINE_SAFE
	call	*8(%rsp)
SYM_INNER_LABEL(storm_came_back_once, SYM_L_GLOBAL)
	pushfq
	jmp	1b
2:	popfq
	ANNOTATE_RETPOLINE_SAFE
	call	*8(%rsp)
SYM_INNER_LABEL(storm_came_back, SYM_L_GLOBAL)
	pushfq
	pushq	%rdi
	/* rdi, flags, times, function, registers */
	movq	32(%rsp), %rdi
	STORE_ALL rdi, REGISTERS
	popq	%rax
	movq	%rax, AT_RDI(%rdi)
	popq	%rax
	movq	%rax, AT_FLAGS(%rdi)
	addq	$24, %rsp
	popfq
	POP_ALL	CALLEE_SAVED
	RET
SYM_FUNC_END(storm_run)

	.balign	64
	.globl	storm_text_begin
storm_text_begin:

/* The instruction is like no other in the kernel, so a copy of it shows. */
SYM_FUNC_START(storm_move)
	ENDBR
SYM_INNER_LABEL(storm_move_site, SYM_L_GLOBAL)
	movabsq	$0x6b70726f6265735f, %rax
	leaq	5(%rdi), %rax
	RET
SYM_FUNC_END(storm_move)

SYM_FUNC_START(storm_rip)
	ENDBR
SYM_INNER_LABEL(storm_rip_site, SYM_L_GLOBAL)
	movq	storm_five(%rip), %rax
	addq	%rdi, %rax
	RET
SYM_FUNC_END(storm_rip)

SYM_FUNC_START(storm_load)
	ENDBR
	leaq	storm_five(%rip), %rdx
SYM_INNER_LABEL(storm_load_site, SYM_L_GLOBAL)
	movq	(%rdx), %rax
	addq	%rdi, %rax
2:	RET
	_ASM_EXTABLE(storm_load_site, 2b)
SYM_FUNC_END(storm_load)

SYM_FUNC_START(storm_jump)
	ENDBR
SYM_INNER_LABEL(storm_jump_site, SYM_L_GLOBAL)
	jmp	1f
	nop
1:	leaq	5(%rdi), %rax
	RET
SYM_FUNC_END(storm_jump)

SYM_FUNC_START_LOCAL(storm_leaf)
	leaq	5(%rdi), %rax
	RET
SYM_FUNC_END(storm_leaf)

SYM_FUNC_START(storm_calls)
	ENDBR
	subq	$8, %rsp
SYM_INNER_LABEL(storm_call_site, SYM_L_GLOBAL)
	call	storm_leaf
	addq	$8, %rsp
	RET
SYM_FUNC_END(storm_calls)

SYM_FUNC_START(storm_return)
	ENDBR
	leaq	5(%rdi), %rax
SYM_INNER_LABEL(storm_return_site, SYM_L_GLOBAL)
	RET
SYM_FUNC_END(storm_return)

	.globl	storm_text_end
storm_text_end:
	nop

	.section .rodata
	.balign	8
storm_five:
	.quad	5
