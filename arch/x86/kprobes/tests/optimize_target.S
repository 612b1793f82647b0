/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the cases of jumps probe, and what runs it. The place is the first
 * instruction, or where optimize.c says. No symbol is within a function, as
 * it would count as a function of its own; and no ftrace is here.
 */
#include <linux/annotate.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/nops.h>
#include <asm/nospec-branch.h>
#include <asm/ptrace-abi.h>
#include "register-macros.S"

	.text

/* long clauses_invoke(long first, long second, const void *function) */
SYM_FUNC_START(clauses_invoke)
	ENDBR
	ANNOTATE_RETPOLINE_SAFE
	jmp	*%rdx
SYM_FUNC_END(clauses_invoke)

/* From the first of struct pt_regs on; all but RDI, which has where they are. */
#define REGISTERS							\
	0, r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi

/*
 * void clauses_invoke_with(struct pt_regs *regs, const void *function): it runs
 * with these registers and flags; those that it leaves come back.
 */
SYM_FUNC_START(clauses_invoke_with)
	ENDBR
	PUSH_ALL CALLEE_SAVED
	pushq	%rdi
	pushq	%rsi
	pushq	EFLAGS(%rdi)
	popfq
	LOAD_ALL rdi, REGISTERS
	movq	RDI(%rdi), %rdi
	ANNOTATE_RETPOLINE_SAFE
	call	*(%rsp)
	pushfq
	pushq	%rdi
	/* rdi, flags, function, regs */
	movq	24(%rsp), %rdi
	STORE_ALL rdi, REGISTERS
	popq	%rax
	movq	%rax, RDI(%rdi)
	popq	%rax
	movq	%rax, EFLAGS(%rdi)
	movq	%rsp, RSP(%rdi)
	/* What C wants: interrupts on, and no other flag. */
	pushq	$0x202
	popfq
	addq	$16, %rsp
	POP_ALL	CALLEE_SAVED
	RET
SYM_FUNC_END(clauses_invoke_with)

.macro PLACE name
SYM_FUNC_START(optimize_\name)
	ENDBR
.endm

.macro END_PLACE name
	RET
SYM_FUNC_END(optimize_\name)
.endm

/* A jump label at 1:, a NOP of five bytes; 2: is where it may lead. */
.macro LABEL_ENTRY
	.pushsection __jump_table, "aw"
	.balign	8
	ANNOTATE_DATA_SPECIAL
	.long	1b - ., 2f - .
	.quad	optimize_key - .
	.popsection
.endm

/* But for the two with registers and memory, each adds five. */

/*
 * Another probe may be at the second instruction, in the jump's last byte. The
 * third function tells that the optimizer has been here.
 */
.irp name, plain, second, third
PLACE \name
	leaq	5(%rdi), %rax
	xorl	%ecx, %ecx
END_PLACE \name
.endr

PLACE rip
	movq	optimize_five(%rip), %rax
	addq	%rdi, %rax
END_PLACE rip

/*
 * Flags are used, and changed. Thunks may change them, so this does not return
 * by one.
 */
PLACE registers
	adcq	%rdi, %rax
	sbbq	%r15, %r14
	ANNOTATE_UNRET_SAFE
	ret
	int3
SYM_FUNC_END(optimize_registers)

/* optimize_memory(void *buffer, size_t bytes): long enough to be preempted. */
PLACE memory
	movq	%rsi, %rcx
	xorl	%eax, %eax
	rep stosb
	leaq	5(%rsi), %rax
END_PLACE memory

/* Nothing but these two bytes is left of the function. */
PLACE near_end
	jmp	2f
1:	RET
2:	leaq	5(%rdi), %rax
	jmp	1b
SYM_FUNC_END(optimize_near_end)

SYM_FUNC_START_NOALIGN(optimize_near_end_next)
	ENDBR
	RET
SYM_FUNC_END(optimize_near_end_next)

/* A branch of its own leads two bytes into the region. */
PLACE into
	xorl	%eax, %eax
1:	incl	%eax
	cmpl	$5, %eax
	jne	1b
	addq	%rdi, %rax
END_PLACE into

/* A branch leads to the byte behind the jump. */
PLACE behind
	movl	$0, %eax
1:	incl	%eax
	cmpl	$5, %eax
	jne	1b
	addq	%rdi, %rax
END_PLACE behind

/* Where it leads is not in the code. */
PLACE indirect_jump
	leaq	5(%rdi), %rax
	leaq	1f(%rip), %rdx
	testq	%rdi, %rdi
	jz	1f
	ANNOTATE_RETPOLINE_SAFE
	jmp	*%rdx
1:	ENDBR
END_PLACE indirect_jump

/* Expected to fault: in the region, behind it and fixed up into it, neither. */
PLACE fault_inside
	leaq	5(%rdi), %rax
1:	movq	(%rsp), %rcx
2:	RET
	_ASM_EXTABLE(1b, 2b)
SYM_FUNC_END(optimize_fault_inside)

PLACE fixup_inside
	xorl	%eax, %eax
2:	leaq	5(%rdi), %rax
1:	movq	(%rsp), %rcx
	RET
	_ASM_EXTABLE(1b, 2b)
SYM_FUNC_END(optimize_fixup_inside)

PLACE fault_elsewhere
	leaq	5(%rdi), %rax
	xorl	%ecx, %ecx
1:	movq	(%rsp), %rcx
2:	RET
	_ASM_EXTABLE(1b, 2b)
SYM_FUNC_END(optimize_fault_elsewhere)

/* Adds a hundred more when the key is on. */
PLACE label
	leaq	5(%rdi), %rax
1:	.byte	BYTES_NOP5
	LABEL_ENTRY
	RET
2:	addq	$100, %rax
END_PLACE label

SYM_FUNC_START_LOCAL(optimize_leaf)
	ENDBR
	leaq	5(%rdi), %rax
	RET
SYM_FUNC_END(optimize_leaf)

PLACE call
	subq	$8, %rsp
	call	optimize_leaf
	addq	$8, %rsp
END_PLACE call

/* The place is the second instruction. */
PLACE indirect_call
	leaq	optimize_leaf(%rip), %rdx
	subq	$8, %rsp
	ANNOTATE_RETPOLINE_SAFE
	call	*%rdx
	addq	$8, %rsp
END_PLACE indirect_call

PLACE branch
	testq	%rdi, %rdi
	jz	1f
	leaq	5(%rdi), %rax
	RET
1:	movl	$5, %eax
END_PLACE branch

PLACE jump
	leaq	5(%rdi), %rax
	jmp	1f
	.skip	3, 0xcc
1:	xorl	%ecx, %ecx
END_PLACE jump

/* The place is the branch, which is always taken. */
PLACE ud2
	testq	%rdi, %rdi
	jnc	1f
	ud2
	nop
1:	leaq	5(%rdi), %rax
END_PLACE ud2

PLACE int3
	testq	%rdi, %rdi
	jnc	1f
	.skip	3, 0xcc
1:	leaq	5(%rdi), %rax
END_PLACE int3

/* The place is what is done five times. */
PLACE loop
	movl	$5, %ecx
	movq	%rdi, %rax
1:	incq	%rax
	loop	1b
END_PLACE loop

PLACE landing_pad
	leaq	5(%rdi), %rax
	.byte	0xf3, 0x0f, 0x1e, 0xfa	/* endbr64 */
END_PLACE landing_pad

	.section .rodata
	.balign	8
SYM_DATA_LOCAL(optimize_five, .quad 5)
