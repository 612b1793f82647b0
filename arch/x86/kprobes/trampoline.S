/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What all detours have in common. A jump in the place of a breakpoint leads to
 * a detour (isa/layout.rs), which pushes what a trap would save and calls this.
 * Here the other registers are saved, the handlers are called, and all is put
 * back; the return leads to the copied instructions.
 *
 * The address to return to comes upon the stack where struct pt_regs has
 * orig_ax. While the handlers run %rbx has it, and in the end it is put where ss
 * was: next to the stack that the probed code had.
 *
 * A detour may be freed when no task is in it, which Tasks RCU tells: so nobody
 * sleeps here. Who is preempted, before the handlers or after them, counts as
 * still here. Handlers may not sleep, and preemption is off while they run.
 *
 * Interrupts may come anywhere. The hints tell an unwinder what is on the stack;
 * ip is behind the first byte of the probed instruction, as a trap would have
 * it, so what is before ip is what counts (signal=0). Where the frame is left,
 * the hint is that of a function about to return: to a copied instruction, which
 * kprobe_original_frame() makes into the original one.
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

/* From the address to return to: where the detour says whose it is. */
#define DETOUR_OWNER	-25

	.section .kprobes.text, "ax"

SYM_CODE_START(rust_kprobes_detour)
	UNWIND_HINT_IRET_REGS offset=8 signal=0
	ANNOTATE_NOENDBR
	PUSH_REGS unwind_hint=0
	UNWIND_HINT_REGS signal=0
	ENCODE_FRAME_POINTER
	/* The handlers are C: what the probed code has changed is not for them. */
	cld
	ASM_CLAC
	movq	ORIG_RAX(%rsp), %rbx
	movq	$-1, ORIG_RAX(%rsp)
	movq	$__KERNEL_DS, SS(%rsp)
	movq	DETOUR_OWNER(%rbx), %rdi
	movq	%rsp, %rsi
	incq	PER_CPU_VAR(__preempt_count)
	call	rust_kprobes_detour_hit
	decq	PER_CPU_VAR(__preempt_count)
	jz	.Lpreempted
.Lrestore:
	movq	%rbx, SS(%rsp)
	UNWIND_HINT_IRET_REGS offset=RIP signal=0
#ifdef CONFIG_FRAME_POINTER
	/* As long as it leads to what is popped an unwinder goes astray. */
	movq	RBP(%rsp), %rbp
#endif
	POP_REGS
	/* orig_ax, ip, cs */
	addq	$(3 * 8), %rsp
	UNWIND_HINT sp_reg=ORC_REG_SP sp_offset=24 type=UNWIND_HINT_TYPE_CALL
	popfq
	/* sp, and no flag is changed */
	leaq	8(%rsp), %rsp
	/* The call that this returns from, in the detour, was not counted either. */
	RET_WITH_FLAGS

	/* Somebody wants the CPU, and was kept waiting. */
.Lpreempted:
	UNWIND_HINT_REGS signal=0
	call	rust_kprobes_give_way
	jmp	.Lrestore
SYM_INNER_LABEL(rust_kprobes_detour_end, SYM_L_GLOBAL)
SYM_CODE_END(rust_kprobes_detour)
