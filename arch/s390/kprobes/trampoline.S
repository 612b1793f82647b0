/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The code that all detours share. A jump that replaces a breakpoint leads to a
 * detour (jump.rs), which begins with a copy of the template below. It makes room
 * for a frame and calls this code, which saves the other registers as an
 * interruption does, calls the handlers, and restores the registers. The detour
 * takes the frame down, runs the copied instruction and jumps back.
 *
 * Register 14 has the address in the detour to return to. The frame of the probed
 * code is not known, and what is above its stack pointer may be in use, so the
 * frame here has no back chain: an unwinder then looks for saved registers, and
 * continues with them. Before the label rust_kprobes_detour_frame it cannot, and
 * kprobe_unwind_original() tells it where the probed code is.
 *
 * The condition code is that of the probed code until EPSW has read it.
 *
 * A detour is freed after a grace period of Tasks RCU, so no task may sleep here.
 * A task that is preempted here, before the handlers or after them, delays the
 * grace period. Handlers may not sleep, and preemption is off while they run.
 */
#include <linux/linkage.h>
#include <asm/asm-offsets.h>
#include <asm/ptrace.h>

/* The same in jump.rs. */
#define FRAME_SIZE	(STACK_FRAME_OVERHEAD + __PT_SIZE)
#define GPRS		(STACK_FRAME_OVERHEAD + __PT_GPRS)
#define PSW		(STACK_FRAME_OVERHEAD + __PT_PSW)
#define BEHIND_GPRS	(GPRS + 16 * 8)

/* Where code that the owner of this frame calls saves register 14. */
#define RETURN_ADDRESS	(__SF_GPRS + 8 * 8)

/* From the address to return to: what jump.rs writes after the code. */
#define DETOUR_SHOWN_IP	(40 - 18)
#define DETOUR_CHAIN_WORD	(48 - 18)

	.section .kprobes.text, "ax"

SYM_CODE_START(rust_kprobes_detour)
	/* The address that a breakpoint shows, and the stack pointer. */
	lg	%r1,DETOUR_SHOWN_IP(%r14)
	stg	%r1,PSW+8(%r15)
	la	%r1,FRAME_SIZE(%r15)
	stg	%r1,GPRS+15*8(%r15)
	epsw	%r2,%r3
	risbg	%r3,%r2,0,31,32
	stg	%r3,PSW(%r15)
	/* An unwinder takes a word at RETURN_ADDRESS for the address of a caller. */
	xc	RETURN_ADDRESS(PSW-RETURN_ADDRESS,%r15),RETURN_ADDRESS(%r15)
SYM_INNER_LABEL(rust_kprobes_detour_frame, SYM_L_GLOBAL)
	xc	BEHIND_GPRS(FRAME_SIZE-BEHIND_GPRS,%r15),BEHIND_GPRS(%r15)
	lgr	%r13,%r14
	lg	%r2,DETOUR_CHAIN_WORD(%r14)
	la	%r3,STACK_FRAME_OVERHEAD(%r15)
	brasl	%r14,rust_kprobes_jumped
	mvghi	RETURN_ADDRESS(%r15),0
	/* Handlers may change the mask of interrupts. */
	ssm	PSW(%r15)
	/* The condition code and the program mask: bits 18 to 23 of the PSW. */
	lg	%r1,PSW(%r15)
	srlg	%r1,%r1,16
	spm	%r1
	lgr	%r14,%r13
	lmg	%r0,%r13,GPRS(%r15)
	br	%r14
SYM_INNER_LABEL(rust_kprobes_detour_end, SYM_L_GLOBAL)
SYM_CODE_END(rust_kprobes_detour)

	.section .rodata, "a"

	/* Each instruction has six bytes. None changes the condition code. */
	.balign	8
SYM_DATA_START(rust_kprobes_detour_template)
	lay	%r15,-FRAME_SIZE(%r15)
	stmg	%r0,%r14,GPRS(%r15)
	brasl	%r14,rust_kprobes_detour
	lmg	%r14,%r15,GPRS+14*8(%r15)
SYM_DATA_END(rust_kprobes_detour_template)
