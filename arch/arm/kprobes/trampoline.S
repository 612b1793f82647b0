/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The code that all detours share. A jump that replaces a breakpoint leads to a
 * detour (jump.rs), which begins with a copy of the template below. It saves
 * most registers and calls this code, which saves the rest, calls the handlers,
 * and restores the registers. The detour takes the frame down, runs the copied
 * instruction and jumps back. As in C's detours, handlers may change the stack
 * pointer and the mask of interrupts, too.
 *
 * LR has the address in the detour to return to. The stack pointer of the probed
 * code need not be a multiple of eight, as C expects. An unwinder that begins with
 * the registers of an interrupt knows FP, SP, LR and PC only: where FP is not set,
 * kprobe_unwind_original() translates them.
 *
 * A detour is freed after a grace period of Tasks RCU, so no task may sleep here.
 * Preemption is off while handlers run.
 */
#include <linux/linkage.h>
#include <asm/asm-offsets.h>
#include <asm/assembler.h>
#include <asm/unwind.h>

/* From the address to return to: what jump.rs writes after the code. */
#define DETOUR_SHOWN_IP	(40 - 20)
#define DETOUR_CHAIN_WORD	(44 - 20)

/* The unwinder that follows frame pointers has to find the probed code's. */
#ifdef CONFIG_ARM_UNWIND
frame	.req	fp
#else
frame	.req	r4
#endif

	.section .kprobes.text, "ax"
	.arm

ENTRY(rust_kprobes_detour)
 UNWIND(.fnstart			)
	ldr	r0, [lr, #DETOUR_SHOWN_IP]
	add	r1, sp, #PT_REGS_SIZE
	mrs	r2, cpsr
	mvn	r3, #0
	str	r1, [sp, #S_SP]
	str	r0, [sp, #S_PC]
	str	r2, [sp, #S_PSR]
	str	r3, [sp, #S_OLD_R0]
 UNWIND(.save	{r0 - pc}		)
	mov	frame, sp
 UNWIND(.setfp	frame, sp		)
	.globl	rust_kprobes_detour_frame
rust_kprobes_detour_frame:
	mov	r5, lr
	ldr	r0, [lr, #DETOUR_CHAIN_WORD]
	mov	r1, sp
	bic	sp, sp, #7
	bl	rust_kprobes_call_handlers
	mov	sp, frame
	ldr	r1, [sp, #S_PSR]
	msr	cpsr_cxsf, r1
	mov	lr, r5
	ldmia	sp, {r0 - r12}
	ret	lr
	.globl	rust_kprobes_detour_end
rust_kprobes_detour_end:
 UNWIND(.fnend				)
ENDPROC(rust_kprobes_detour)

	.section .rodata, "a"

	/* None of these changes the flags. */
	.balign	4
	.globl	rust_kprobes_detour_template
rust_kprobes_detour_template:
	sub	sp, sp, #PT_REGS_SIZE
	stmia	sp, {r0 - r12}
	str	lr, [sp, #S_LR]
	mov	lr, pc
	ldr	pc, [pc, #24]
	ldr	lr, [sp, #S_LR]
	ldr	sp, [sp, #S_SP]
