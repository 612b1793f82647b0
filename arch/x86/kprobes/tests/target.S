/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the x86 cases probe: instructions that run as copies, are emulated, or
 * fault; and symbols by whose names alone probing is refused. No ftrace here,
 * so these are hit by breakpoints.
 */
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>
#include <asm/processor-flags.h>
#include <asm/smap.h>

#define FUNCTION_BEGIN	ENDBR
#define FUNCTION_RETURN	RET
#include "functions.h"

	.text

/* long clauses_move(long value): goes on by itself unless it must come back. */
PROBED clauses_move
	leaq	5(%rdi), %rax
LABEL clauses_move_next
END clauses_move

/* The same again, for handlers to call. */
PROBED clauses_inner
	leaq	5(%rdi), %rax
END clauses_inner

/* long clauses_rip(long value): relative to where it stands. */
PROBED clauses_rip
	movq	clauses_five(%rip), %rax
LABEL clauses_rip_next
	addq	%rdi, %rax
END clauses_rip

PROBED clauses_jump
	jmp	clauses_jump_next
	nop
LABEL clauses_jump_next
	leaq	5(%rdi), %rax
END clauses_jump

FUNCTION clauses_branch
	xorl	%eax, %eax
	testq	%rdi, %rdi
LABEL clauses_branch_site
	jnz	clauses_branch_next
	RET
LABEL clauses_branch_next
	leaq	5(%rdi), %rax
END clauses_branch

FUNCTION clauses_leaf
	leaq	5(%rdi), %rax
END clauses_leaf

/* The same for who has set AC, which is clear after. */
FUNCTION clauses_leaf_clac
	leaq	5(%rdi), %rax
	pushfq
	andq	$~X86_EFLAGS_AC, (%rsp)
	popfq
END clauses_leaf_clac

FUNCTION clauses_call_site_in
	subq	$8, %rsp
LABEL clauses_call_site
	call	clauses_leaf
	addq	$8, %rsp
END clauses_call_site_in

FUNCTION clauses_return
	leaq	5(%rdi), %rax
LABEL clauses_return_site
END clauses_return

/* Instructions that are refused, never reached. */
FUNCTION clauses_refused
	testq	%rdi, %rdi
	jz	1f
LABEL clauses_load_ss
	.byte	0x8e, 0xd0		/* mov %eax, %ss */
LABEL clauses_ud2
	ud2
LABEL clauses_far
	.byte	0xff, 0x2f		/* ljmp *(%rdi) */
1:
END clauses_refused

/* long clauses_load(const long *from): the value, or -14. */
PROBED clauses_load
	movq	(%rdi), %rax
LABEL clauses_load_next
	RET
LABEL clauses_load_fixup
	movq	$-14, %rax
	RET
	_ASM_EXTABLE(clauses_load_site, clauses_load_fixup)
SYM_FUNC_END(clauses_load)

/* The same, of user memory. */
FUNCTION clauses_load_user
	ASM_STAC
LABEL clauses_load_user_site
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
PROBED clauses_load_zeropad
	movq	(%rdi), %rax
1:	RET
	_ASM_EXTABLE_TYPE(clauses_load_zeropad_site, 1b, EX_TYPE_ZEROPAD)
SYM_FUNC_END(clauses_load_zeropad)

/* long clauses_rdmsr(u32 number): its lower half, or -14. */
FUNCTION clauses_rdmsr
	movl	%edi, %ecx
LABEL clauses_rdmsr_site
	rdmsr
	RET
2:	movq	$-14, %rax
	RET
	_ASM_EXTABLE(clauses_rdmsr_site, 2b)
SYM_FUNC_END(clauses_rdmsr)

/* long clauses_bare_load(const long *from): nobody expects it to fault. */
PROBED clauses_bare_load
	movq	(%rdi), %rax
	RET
LABEL clauses_bare_load_out
	movq	$-14, %rax
END clauses_bare_load

/*
 * long clauses_call_memory(const unsigned long *from, long value): what is
 * called there, as clauses_leaf, or -14.
 */
FUNCTION clauses_call_memory
	xchgq	%rdi, %rsi
	subq	$8, %rsp
LABEL clauses_call_memory_site
	ANNOTATE_RETPOLINE_SAFE
	call	*0x18(%rsi)
	addq	$8, %rsp
	RET
LABEL clauses_call_memory_out
	movq	$-14, %rax
	addq	$8, %rsp
END clauses_call_memory

/* The same, of memory of user space. */
FUNCTION clauses_call_user
	xchgq	%rdi, %rsi
	subq	$8, %rsp
	/* Like STAC, in which objtool wants no call; the callee clears it. */
	pushfq
	orq	$X86_EFLAGS_AC, (%rsp)
	popfq
LABEL clauses_call_user_site
	ANNOTATE_RETPOLINE_SAFE
	call	*0x18(%rsi)
	addq	$8, %rsp
END clauses_call_user

/*
 * void clauses_row(void): through 20 functions of 16 moves, each 96 bytes. Not
 * one long function, of which C would decode all for each probe.
 */
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
LABEL clauses_row_begin
	FOR_EACH_OF_ROW row_function

FUNCTION clauses_row
	subq	$8, %rsp
	FOR_EACH_OF_ROW row_call
	addq	$8, %rsp
END clauses_row

.macro NAMED name
SYM_FUNC_START(\name)
	nop
	RET
SYM_FUNC_END(\name)
.endm

/* A function with a part that was split off. */
.macro SPLIT name
SYM_FUNC_START(\name)
	testq	%rdi, %rdi
	jz	\name\().cold
END \name
NAMED \name\().cold
.endm

SPLIT clauses_split
_ASM_NOKPROBE(clauses_split)
SPLIT clauses_free

#ifndef CONFIG_CFI
NAMED __cfi_clauses_none
#endif
NAMED __pfx_clauses_none

	.section .rodata
	.balign	8
clauses_five:
	.quad	5
