/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the x86 cases probe: instructions that run as copies, are emulated, or
 * fault; and symbols by whose names alone probing is refused. No ftrace here,
 * so these are hit by breakpoints.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>
#include <asm/processor-flags.h>
#include <asm/smap.h>

	.text

/* long clauses_move(long value): goes on by itself unless it must come back. */
SYM_FUNC_START(clauses_move)
	ENDBR
SYM_INNER_LABEL(clauses_move_site, SYM_L_GLOBAL)
	leaq	5(%rdi), %rax
SYM_INNER_LABEL(clauses_move_next, SYM_L_GLOBAL)
	RET
SYM_FUNC_END(clauses_move)

/* The same again, for handlers to call. */
SYM_FUNC_START(clauses_inner)
	ENDBR
SYM_INNER_LABEL(clauses_inner_site, SYM_L_GLOBAL)
	leaq	5(%rdi), %rax
	RET
SYM_FUNC_END(clauses_inner)

/* long clauses_rip(long value): relative to where it stands. */
SYM_FUNC_START(clauses_rip)
	ENDBR
SYM_INNER_LABEL(clauses_rip_site, SYM_L_GLOBAL)
	movq	clauses_five(%rip), %rax
SYM_INNER_LABEL(clauses_rip_next, SYM_L_GLOBAL)
	addq	%rdi, %rax
	RET
SYM_FUNC_END(clauses_rip)

SYM_FUNC_START(clauses_jump)
	ENDBR
SYM_INNER_LABEL(clauses_jump_site, SYM_L_GLOBAL)
	jmp	clauses_jump_next
	nop
SYM_INNER_LABEL(clauses_jump_next, SYM_L_GLOBAL)
	leaq	5(%rdi), %rax
	RET
SYM_FUNC_END(clauses_jump)

SYM_FUNC_START(clauses_branch)
	ENDBR
	xorl	%eax, %eax
	testq	%rdi, %rdi
SYM_INNER_LABEL(clauses_branch_site, SYM_L_GLOBAL)
	jnz	clauses_branch_next
	RET
SYM_INNER_LABEL(clauses_branch_next, SYM_L_GLOBAL)
	leaq	5(%rdi), %rax
	RET
SYM_FUNC_END(clauses_branch)

SYM_FUNC_START(clauses_leaf)
	ENDBR
	leaq	5(%rdi), %rax
	RET
SYM_FUNC_END(clauses_leaf)

/* The same for who has set AC, which is clear after. */
SYM_FUNC_START(clauses_leaf_clac)
	ENDBR
	leaq	5(%rdi), %rax
	pushfq
	andq	$~X86_EFLAGS_AC, (%rsp)
	popfq
	RET
SYM_FUNC_END(clauses_leaf_clac)

SYM_FUNC_START(clauses_call_site_in)
	ENDBR
	subq	$8, %rsp
SYM_INNER_LABEL(clauses_call_site, SYM_L_GLOBAL)
	call	clauses_leaf
	addq	$8, %rsp
	RET
SYM_FUNC_END(clauses_call_site_in)

SYM_FUNC_START(clauses_return)
	ENDBR
	leaq	5(%rdi), %rax
SYM_INNER_LABEL(clauses_return_site, SYM_L_GLOBAL)
	RET
SYM_FUNC_END(clauses_return)

/* Instructions that are refused, never reached. */
SYM_FUNC_START(clauses_refused)
	ENDBR
	testq	%rdi, %rdi
	jz	1f
SYM_INNER_LABEL(clauses_load_ss, SYM_L_GLOBAL)
	.byte	0x8e, 0xd0		/* mov %eax, %ss */
SYM_INNER_LABEL(clauses_ud2, SYM_L_GLOBAL)
	ud2
SYM_INNER_LABEL(clauses_far, SYM_L_GLOBAL)
	.byte	0xff, 0x2f		/* ljmp *(%rdi) */
1:	RET
SYM_FUNC_END(clauses_refused)

/* long clauses_load(const long *from): the value, or -14. */
SYM_FUNC_START(clauses_load)
	ENDBR
SYM_INNER_LABEL(clauses_load_site, SYM_L_GLOBAL)
	movq	(%rdi), %rax
SYM_INNER_LABEL(clauses_load_next, SYM_L_GLOBAL)
	RET
SYM_INNER_LABEL(clauses_load_fixup, SYM_L_GLOBAL)
	movq	$-14, %rax
	RET
	_ASM_EXTABLE(clauses_load_site, clauses_load_fixup)
SYM_FUNC_END(clauses_load)

/* The same, of user memory. */
SYM_FUNC_START(clauses_load_user)
	ENDBR
	ASM_STAC
SYM_INNER_LABEL(clauses_load_user_site, SYM_L_GLOBAL)
	movq	(%rdi), %rax
	ASM_CLAC
	RET
2:	ASM_CLAC
	movq	$-14, %rax
	RET
	_ASM_EXTABLE(clauses_load_user_site, 2b)
SYM_FUNC_END(clauses_load_user)

/*
 * long clauses_load_zeropad(const void *from): the value, with zeroes for what
 * would be in another page that is not there.
 */
SYM_FUNC_START(clauses_load_zeropad)
	ENDBR
SYM_INNER_LABEL(clauses_load_zeropad_site, SYM_L_GLOBAL)
	movq	(%rdi), %rax
1:	RET
	_ASM_EXTABLE_TYPE(clauses_load_zeropad_site, 1b, EX_TYPE_ZEROPAD)
SYM_FUNC_END(clauses_load_zeropad)

/* long clauses_rdmsr(u32 number): its lower half, or -14. */
SYM_FUNC_START(clauses_rdmsr)
	ENDBR
	movl	%edi, %ecx
SYM_INNER_LABEL(clauses_rdmsr_site, SYM_L_GLOBAL)
	rdmsr
	RET
2:	movq	$-14, %rax
	RET
	_ASM_EXTABLE(clauses_rdmsr_site, 2b)
SYM_FUNC_END(clauses_rdmsr)

/* long clauses_bare_load(const long *from): nobody expects it to fault. */
SYM_FUNC_START(clauses_bare_load)
	ENDBR
SYM_INNER_LABEL(clauses_bare_load_site, SYM_L_GLOBAL)
	movq	(%rdi), %rax
	RET
SYM_INNER_LABEL(clauses_bare_load_out, SYM_L_GLOBAL)
	movq	$-14, %rax
	RET
SYM_FUNC_END(clauses_bare_load)

/*
 * long clauses_call_memory(const unsigned long *from, long value): what is
 * called there, as clauses_leaf, or -14.
 */
SYM_FUNC_START(clauses_call_memory)
	ENDBR
	xchgq	%rdi, %rsi
	subq	$8, %rsp
SYM_INNER_LABEL(clauses_call_memory_site, SYM_L_GLOBAL)
	ANNOTATE_RETPOLINE_SAFE
	call	*0x18(%rsi)
	addq	$8, %rsp
	RET
SYM_INNER_LABEL(clauses_call_memory_out, SYM_L_GLOBAL)
	movq	$-14, %rax
	addq	$8, %rsp
	RET
SYM_FUNC_END(clauses_call_memory)

/* The same, of memory of user space. */
SYM_FUNC_START(clauses_call_user)
	ENDBR
	xchgq	%rdi, %rsi
	subq	$8, %rsp
	/* Like STAC, in which objtool wants no call; the callee clears it. */
	pushfq
	orq	$X86_EFLAGS_AC, (%rsp)
	popfq
SYM_INNER_LABEL(clauses_call_user_site, SYM_L_GLOBAL)
	ANNOTATE_RETPOLINE_SAFE
	call	*0x18(%rsi)
	addq	$8, %rsp
	RET
SYM_FUNC_END(clauses_call_user)

/*
 * void clauses_row(void): through 20 functions of 16 moves, each 96 bytes. Not
 * one long function, of which C would decode all for each probe.
 */
	.altmacro
	.macro row_function number
	.balign	32
SYM_FUNC_START_LOCAL_NOALIGN(clauses_row_\number)
	ENDBR
	.rept 16
	movl	$0x6b70726f, %eax
	.endr
	RET
SYM_FUNC_END(clauses_row_\number)
	.endm

	.macro row_call number
	call	clauses_row_\number
	.endm

	.balign	32
	.globl	clauses_row_begin
clauses_row_begin:
	.set	index, 0
	.rept	20
	row_function %index
	.set	index, index + 1
	.endr

SYM_FUNC_START(clauses_row)
	ENDBR
	subq	$8, %rsp
	.set	index, 0
	.rept	20
	row_call %index
	.set	index, index + 1
	.endr
	addq	$8, %rsp
	RET
SYM_FUNC_END(clauses_row)

/* Two functions with a part that was split off; the first is not for probes. */
SYM_FUNC_START(clauses_split)
	testq	%rdi, %rdi
	jz	clauses_split.cold
	RET
SYM_FUNC_END(clauses_split)
_ASM_NOKPROBE(clauses_split)

SYM_FUNC_START(clauses_split.cold)
	nop
	RET
SYM_FUNC_END(clauses_split.cold)

SYM_FUNC_START(clauses_free)
	testq	%rdi, %rdi
	jz	clauses_free.cold
	RET
SYM_FUNC_END(clauses_free)

SYM_FUNC_START(clauses_free.cold)
	nop
	RET
SYM_FUNC_END(clauses_free.cold)

#ifndef CONFIG_CFI
SYM_FUNC_START(__cfi_clauses_none)
	nop
	RET
SYM_FUNC_END(__cfi_clauses_none)
#endif

SYM_FUNC_START(__pfx_clauses_none)
	nop
	RET
SYM_FUNC_END(__pfx_clauses_none)

	.section .rodata
	.balign	8
clauses_five:
	.quad	5
