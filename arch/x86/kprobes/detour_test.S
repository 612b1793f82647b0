/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions for the tests of detours, and what runs them with registers of a
 * test's choice.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/nospec-branch.h>
#include <asm/unwind_hints.h>
#include "ret.h"
#include "tests/register-macros.S"

/* struct State in jump/tests/registers.rs */
#define S_AX	(0 * 8)
#define S_SP	(4 * 8)
#define S_BP	(5 * 8)
#define S_DI	(7 * 8)
#define S_R8	(8 * 8)
#define S_FLAGS	(16 * 8)
#define S_TOP	(17 * 8)
#define S_NEXT	(18 * 8)

	.section .kprobes.text, "ax"

/* void rust_kprobes_test_run(struct State *state, function) */
SYM_FUNC_START(rust_kprobes_test_run)
	PUSH_ALL CALLEE_SAVED
	pushq	%rdi
	pushq	%rsi
	pushq	S_NEXT(%rdi)
	pushq	S_TOP(%rdi)
	pushq	S_FLAGS(%rdi)
	popfq
	LOAD_ALL rdi, S_AX, rax, rcx, rdx, rbx
	LOAD_ALL rdi, S_BP, rbp, rsi
	LOAD_ALL rdi, S_R8, r8, r9, r10, r11, r12, r13, r14, r15
	movq	S_DI(%rdi), %rdi
	ANNOTATE_RETPOLINE_SAFE
	call	*16(%rsp)
SYM_INNER_LABEL(rust_kprobes_test_ran, SYM_L_GLOBAL)
	pushfq
	pushq	%rdi
	/* di, flags, top, next, function, state */
	movq	40(%rsp), %rdi
	STORE_ALL rdi, S_AX, rax, rcx, rdx, rbx
	STORE_ALL rdi, S_BP, rbp, rsi
	STORE_ALL rdi, S_R8, r8, r9, r10, r11, r12, r13, r14, r15
	popq	%rax
	movq	%rax, S_DI(%rdi)
	popq	%rax
	movq	%rax, S_FLAGS(%rdi)
	movq	%rsp, S_SP(%rdi)
	popq	%rax
	movq	%rax, S_TOP(%rdi)
	popq	%rax
	movq	%rax, S_NEXT(%rdi)
	/* C needs interrupts on and the direction flag clear. */
	pushq	$0x202
	popfq
	addq	$16, %rsp
	POP_ALL	CALLEE_SAVED
	RET
SYM_FUNC_END(rust_kprobes_test_run)
/* Any number may be in rbp. */
STACK_FRAME_NON_STANDARD_FP rust_kprobes_test_run

.macro TEST name
SYM_FUNC_START(rust_kprobes_test_\name)
.endm

.macro END_TEST name
	RET_WITH_FLAGS
SYM_FUNC_END(rust_kprobes_test_\name)
.endm

	/* The first instruction has one byte and changes the stack pointer. */
TEST push
	pushq	%rbx
	leaq	5(%rax, %rcx), %rbx
	movq	%rbx, %rdx
	popq	%rbx
END_TEST push

	/* Changes flags, and uses them. */
TEST plain
	addq	%rcx, %rax
	adcq	$7, %rdx
	sbbq	%rsi, %rdi
END_TEST plain

	/* Writes to the stack of the caller. */
TEST stack
	incq	8(%rsp)
	addq	%r15, 16(%rsp)
END_TEST stack

TEST rip
	movq	rust_kprobes_test_word(%rip), %rax
	leaq	rust_kprobes_test_word(%rip), %rbx
	addq	%rax, %rcx
END_TEST rip

	/* Taken or not, by the carry flag that the test sets. */
TEST jcc
	jc	1f
	notq	%rax
	jmp	2f
1:	negq	%rdx
2:	incl	%r14d
END_TEST jcc

TEST jmp
	decq	%r13
	jmp	1f
	.skip	16, 0xcc
1:	notq	%r12
END_TEST jmp

	/* The callee reads its return address. */
TEST call
	notq	%r8
	call	rust_kprobes_test_callee
	movq	%rax, %r9
END_TEST call
/* The value in rbp is not that of a frame. */
STACK_FRAME_NON_STANDARD_FP rust_kprobes_test_call

SYM_FUNC_START_LOCAL(rust_kprobes_test_callee)
	movq	(%rsp), %rax
	RET_WITH_FLAGS
SYM_FUNC_END(rust_kprobes_test_callee)

	/* Saves the flags on the stack, and restores them. */
TEST flags
	pushfq
	xorq	$1, (%rsp)
	popfq
	pushfq
	popq	%r10
END_TEST flags

	/* Swaps GS, and swaps it back. */
TEST gs
	cli
	swapgs
	swapgs
	sti
END_TEST gs

	/* Reloads CR3 with its own value. */
TEST cr3
	movq	%cr3, %rax
	movq	%rax, %cr3
	movl	$0, %eax
END_TEST cr3

	/* IRET to the code behind the padding. */
SYM_FUNC_START(rust_kprobes_test_iret)
	movq	%rsp, %rdx
	movl	%ss, %ecx
	pushq	%rcx
	pushq	%rdx
	pushfq
	movl	%cs, %ecx
	pushq	%rcx
	leaq	1f(%rip), %rdx
SYM_INNER_LABEL(rust_kprobes_test_iret_last, SYM_L_GLOBAL)
	pushq	%rdx
	iretq
	nop
	nop
1:	movl	$0, %ecx
	movl	$0, %edx
	RET_WITH_FLAGS
SYM_FUNC_END(rust_kprobes_test_iret)

	/* Padding follows the return. */
TEST ret
	notq	%rbp
	RET_WITH_FLAGS
	int3
	int3
SYM_FUNC_END(rust_kprobes_test_ret)

	.section .rodata
SYM_DATA_LOCAL(rust_kprobes_test_word, .quad 0x123456789abcdef0)
