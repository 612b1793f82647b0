/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The code that all detours share. A jump that replaces a breakpoint leads to a
 * detour (isa/layout.rs), which pushes the words that a trap saves and calls this
 * code. It saves the other registers, calls the handlers, and restores all
 * registers; it returns to the copied instructions.
 *
 * The return address is pushed where struct pt_regs has orig_ax. %rbx keeps it
 * while the handlers run. In the end it is stored where ss was: next to the stack
 * of the probed code.
 *
 * A detour is freed after a grace period of Tasks RCU, so no task may sleep here.
 * A task that is preempted here, before the handlers or after them, delays the
 * grace period. Handlers may not sleep, and preemption is off while they run.
 *
 * Interrupts may come anywhere. The hints describe the stack to the unwinder. The
 * saved ip is after the first byte of the probed instruction, as in a trap's
 * frame, so the unwinder looks up ip less one (signal=0). At the end the hint is
 * the hint of a function about to return: to a copied instruction, which
 * kprobe_original_frame() translates.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm-offsets.h>
#include <asm/frame.h>
#include <asm/nospec-branch.h>
#include <asm/percpu.h>
#include <asm/segment.h>
#include <asm/smap.h>
#include <asm/unwind_hints.h>
#include "../entry/calling.h"
#include "ret.h"

/* From the return address: the address of the word that points to the chain. */
#define DETOUR_CHAIN_WORD	-32

	.section .kprobes.text, "ax"

SYM_CODE_START(rust_kprobes_detour)
	UNWIND_HINT_IRET_REGS offset=8 signal=0
	ANNOTATE_NOENDBR
	PUSH_REGS unwind_hint=0
	UNWIND_HINT_REGS signal=0
	ENCODE_FRAME_POINTER
	/* The ABI of C needs both flags clear; the probed code may have set them. */
	cld
	ASM_CLAC
	movq	ORIG_RAX(%rsp), %rbx
	movq	$-1, ORIG_RAX(%rsp)
	movq	$__KERNEL_DS, SS(%rsp)
	movq	DETOUR_CHAIN_WORD(%rbx), %rdi
	movq	%rsp, %rsi
	incq	PER_CPU_VAR(__preempt_count)
	call	rust_kprobes_detour_hit
	decq	PER_CPU_VAR(__preempt_count)
	jz	.Lpreempted
.Lrestore:
	movq	%rbx, SS(%rsp)
	UNWIND_HINT_IRET_REGS offset=RIP signal=0
#ifdef CONFIG_FRAME_POINTER
	/* Must not point to the frame that is popped next. */
	movq	RBP(%rsp), %rbp
#endif
	POP_REGS
	/* orig_ax, ip, cs */
	addq	$(3 * 8), %rsp
	UNWIND_HINT sp_reg=ORC_REG_SP sp_offset=24 type=UNWIND_HINT_TYPE_CALL
	popfq
	/* sp; changes no flag */
	leaq	8(%rsp), %rsp
	/* No call depth accounting: the detour's call has none either. */
	RET_WITH_FLAGS

	/* A reschedule is pending. */
.Lpreempted:
	UNWIND_HINT_REGS signal=0
	call	rust_kprobes_resched
	jmp	.Lrestore
SYM_INNER_LABEL(rust_kprobes_detour_end, SYM_L_GLOBAL)
SYM_CODE_END(rust_kprobes_detour)
