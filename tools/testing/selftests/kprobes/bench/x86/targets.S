/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is probed, one function per way of running the probed instruction, and
 * the loop that calls it. In assembly, so that the figures do not move with
 * the compiler.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>

	.text

/* void bench_calls(void (*function)(void), unsigned int times) */
SYM_FUNC_START(bench_calls)
	pushq	%rbx
	pushq	%r12
	movq	%rdi, %r12
	movl	%esi, %ebx
1:	CALL_NOSPEC r12
	decl	%ebx
	jnz	1b
	popq	%r12
	popq	%rbx
	RET
SYM_FUNC_END(bench_calls)

/* Single-stepped; wide enough to be optimized where that is on. */
SYM_FUNC_START(bench_mov)
	ENDBR
	movl	$0x6b70726f, %eax
SYM_INNER_LABEL(bench_mov_return, SYM_L_GLOBAL)
	RET
SYM_FUNC_END(bench_mov)

/* The same again, called by a handler. */
SYM_FUNC_START(bench_inner)
	ENDBR
	movl	$0x6b70726f, %eax
	RET
SYM_FUNC_END(bench_inner)

/* Single-stepped, and never optimized: there is a jump in the way. */
SYM_FUNC_START(bench_short)
	ENDBR
	movl	%edi, %eax
	jmp	1f
	nop
1:	RET
SYM_FUNC_END(bench_short)

SYM_FUNC_START(bench_jmp)
	ENDBR
	jmp	1f
	nop
1:	RET
SYM_FUNC_END(bench_jmp)

SYM_FUNC_START_LOCAL(bench_leaf)
	RET
SYM_FUNC_END(bench_leaf)

SYM_FUNC_START(bench_call)
	ENDBR
	call	bench_leaf
	RET
SYM_FUNC_END(bench_call)

SYM_FUNC_START(bench_ret)
	ENDBR
	RET
SYM_FUNC_END(bench_ret)

/*
 * A trap for which the kernel has nothing to do: an INT1, which comes in the way
 * of an NMI and raises a debug exception without a reason in DR6. (It saves and
 * restores DR7 and GS, which a breakpoint does not need to.)
 */
SYM_FUNC_START(bench_trap)
	ENDBR
	.byte	0xf1			/* int1 */
	RET
SYM_FUNC_END(bench_trap)

/* A breakpoint of nobody's: taken by a die notifier of the module. */
SYM_FUNC_START(bench_notified)
	ENDBR
	int3
	RET
SYM_FUNC_END(bench_notified)
