/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The trampoline of return probes: functions with a hooked return return to it.
 * It calls the handlers, and continues at the real return address.
 *
 * First the trampoline pushes its own address where the return address was, as if
 * it had called itself. An unwinder knows this address, and finds the real return
 * address by the address of this stack slot. Below is struct pt_regs. At the end,
 * its ss has the flags, so that they can be restored next to the return address,
 * which then replaces the address of the trampoline.
 *
 * With frame pointers the trampoline has a frame like any function, between that
 * slot and struct pt_regs. Wherever the task is interrupted, the unwinder finds
 * the caller next to the frame pointer, until all registers are restored. (C has
 * an encoded pointer to struct pt_regs in the frame pointer, by which no caller
 * is found while ip is not known, and a wrong one while registers are popped.)
 *
 * At the first instruction the address is not on the stack; both unwinders still
 * look for it. With frame pointers, the caller of the function is missing in
 * traces from the next two instructions and from the last one, as in traces from
 * the begin and the end of other functions.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/frame.h>
#include <asm/segment.h>
#include <asm/smap.h>
#include "../entry/calling.h"

	.section .kprobes.text, "ax"

/* Not a function for objtool, which takes CLAC for an end of user access. */
SYM_CODE_START(arch_rethook_trampoline)
	ANNOTATE_NOENDBR
	UNWIND_HINT_FUNC
	pushq	$arch_rethook_trampoline
	UNWIND_HINT_FUNC
	FRAME_BEGIN
	/* ss, sp (corrected below), flags, cs, ip, orig_ax */
	pushq	$__KERNEL_DS
	pushq	%rsp
	pushfq
	pushq	$__KERNEL_CS
	pushq	$arch_rethook_trampoline
	pushq	$-1
	PUSH_REGS unwind_hint=0
	/* A function that copies to or from user space returns with AC set. */
	ASM_CLAC
	movq	%rsp, %rdi
	addq	$(16 + FRAME_OFFSET), RSP(%rsp)
#ifdef CONFIG_FRAME_POINTER
	/* The frame pointer of the caller, instead of the one of this frame. */
	movq	(%rbp), %rax
	movq	%rax, RBP(%rsp)
#endif
	incq	PER_CPU_VAR(__preempt_count)
	call	rust_kprobes_returned
	decq	PER_CPU_VAR(__preempt_count)
	jz	.Lpreempted
.Lrestore:
#ifdef CONFIG_FRAME_POINTER
	/* The end of the frame restores the value that clients have left. */
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

	/* A reschedule is pending. */
.Lpreempted:
	call	rust_kprobes_resched
	jmp	.Lrestore
SYM_CODE_END(arch_rethook_trampoline)
