/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where functions return to whose return is hooked. Clients are told, and the
 * task goes on where the function would have returned to.
 *
 * The place of the return address gets the address of this, as if this had
 * called itself: an unwinder knows it, and finds the real one by that place.
 * Below it comes struct pt_regs. Its ss is where the flags are left, so that
 * they can be restored next to the address to return to, which is put in its
 * place meanwhile.
 *
 * With frame pointers this has a frame like any function, between that place
 * and struct pt_regs: whatever the task is interrupted in, the caller is found
 * next to the frame pointer, and it stays so until all is put back. (C has an
 * encoded pointer to struct pt_regs there, which finds nobody as long as ip is
 * not known, and leads astray while registers are popped.)
 *
 * At the first instruction the address was taken off the stack, where both
 * unwinders look for it all the same. With frame pointers, the function's
 * caller is left out of what an interrupt sees at the next two instructions,
 * and at the last one, as it is where other functions begin and end.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm-offsets.h>
#include <asm/frame.h>
#include <asm/nospec-branch.h>
#include <asm/percpu.h>
#include <asm/segment.h>
#include <asm/unwind_hints.h>
#include "../entry/calling.h"

	.section .kprobes.text, "ax"

SYM_START(arch_rethook_trampoline, SYM_L_GLOBAL, SYM_A_ALIGN)
	ANNOTATE_NOENDBR
	pushq	$arch_rethook_trampoline
	UNWIND_HINT_FUNC
	FRAME_BEGIN
	/* ss, sp (which is made right later), flags, cs, ip, orig_ax */
	pushq	$__KERNEL_DS
	pushq	%rsp
	pushfq
	pushq	$__KERNEL_CS
	pushq	$arch_rethook_trampoline
	pushq	$-1
	PUSH_REGS unwind_hint=0
	movq	%rsp, %rdi
	addq	$(16 + FRAME_OFFSET), RSP(%rsp)
#ifdef CONFIG_FRAME_POINTER
	/* The caller's, instead of this frame's. */
	movq	(%rbp), %rax
	movq	%rax, RBP(%rsp)
#endif
	incq	PER_CPU_VAR(__preempt_count)
	call	rust_kprobes_returned
	decq	PER_CPU_VAR(__preempt_count)
	jz	.Lpreempted
.Lrestore:
#ifdef CONFIG_FRAME_POINTER
	/* What clients have left there comes last, with the end of the frame. */
	movq	RBP(%rsp), %rax
	movq	%rax, (%rbp)
	movq	%rbp, RBP(%rsp)
#endif
	POP_REGS
	/* orig_ax, ip, cs, flags, sp */
	addq	$(5 * 8), %rsp
	popfq
	FRAME_END
	RET

	/* Somebody wants the CPU, and was kept waiting. */
.Lpreempted:
	call	rust_kprobes_give_way
	jmp	.Lrestore
SYM_FUNC_END(arch_rethook_trampoline)
/* What comes off the stack as the caller's frame pointer was put there late. */
STACK_FRAME_NON_STANDARD_FP arch_rethook_trampoline
