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
 * At the first instruction the address was taken off the stack: the ORC
 * unwinder looks for it there all the same, by frame pointers the function's
 * caller is left out.
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
	/* ss, sp (which is made right later), flags, cs, ip, orig_ax */
	pushq	$__KERNEL_DS
	pushq	%rsp
	pushfq
	pushq	$__KERNEL_CS
	pushq	$arch_rethook_trampoline
	pushq	$-1
	PUSH_REGS unwind_hint=0
	ENCODE_FRAME_POINTER
	movq	%rsp, %rdi
	addq	$16, RSP(%rsp)
	incq	PER_CPU_VAR(__preempt_count)
	call	rust_kprobes_returned
	decq	PER_CPU_VAR(__preempt_count)
	jz	.Lpreempted
.Lrestore:
	POP_REGS
	/* orig_ax, ip, cs, flags, sp */
	addq	$(5 * 8), %rsp
	popfq
	RET

	/* Somebody wants the CPU, and was kept waiting. */
.Lpreempted:
	call	rust_kprobes_give_way
	jmp	.Lrestore
SYM_FUNC_END(arch_rethook_trampoline)
STACK_FRAME_NON_STANDARD_FP arch_rethook_trampoline
