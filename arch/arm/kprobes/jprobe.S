/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Enters the handler of a jprobe; has its two ends.
 *
 * The probed function has not begun: the stack is as its caller has left it.
 * This makes a frame with a copy of the arguments on the stack.
 *
 * The number of words to copy, the handler, and the counter that pauses the
 * function graph tracer (the handler's calls need not return) are in per-CPU
 * memory. The task does not leave the CPU. All registers were saved, and are
 * restored in the end; arguments are in registers 0 to 3.
 */
#include <linux/linkage.h>
#include <asm/assembler.h>
#include <asm/unwind.h>

/* The limit of words to copy; the same as in sys/this_cpu.rs. */
#define MAX_WORDS	16

/* struct JprobeEntry in sys/this_cpu.rs */
#define WORDS		0
#define HANDLER		4
#define PAUSE		8

/* The breakpoints of isa/mod.rs. */
	.macro	breakpoint
 ARM(	.inst	0xe7f001f8		)
 THUMB(	.inst.n	0xde18			)
	.endm

	.section .kprobes.text, "ax"
 ARM(	.arm	)
 THUMB(	.thumb	)

ENTRY(rust_kprobes_jprobe_enter)
 UNWIND(.fnstart			)
	/* A frame that FP leads to, too, which is R7 in Thumb code. */
 ARM(	stmdb	sp!, {fp, lr}		)
 ARM( UNWIND(.save	{fp, lr}	)	)
 ARM(	mov	fp, sp			)
 THUMB(	push	{r7, lr}		)
 THUMB( UNWIND(.save	{r7, lr}	)	)
	add	r6, sp, #8
	sub	sp, sp, #MAX_WORDS * 4
 UNWIND(.pad	#MAX_WORDS * 4		)
	this_cpu_offset r4
	mov_l	r5, rust_kprobes_jprobe_state
	add	r4, r4, r5
	ldr	r5, [r4, #PAUSE]
	ldr	r8, [r5]
	add	r8, r8, #1
	str	r8, [r5]
	ldr	r5, [r4, #WORDS]
0:	subs	r5, r5, #1
	ldrpl	r8, [r6, r5, lsl #2]
	strpl	r8, [sp, r5, lsl #2]
	bpl	0b
	badr	lr, rust_kprobes_jprobe_handler_returned
 ARM(	ldr	pc, [r4, #HANDLER]	)
	/* Bit 0 of the client's pointer may be clear. */
 THUMB(	ldr	r5, [r4, #HANDLER]	)
 THUMB(	orr	r5, r5, #1		)
 THUMB(	bx	r5			)

	/* The handler has returned. */
	.globl	rust_kprobes_jprobe_handler_returned
rust_kprobes_jprobe_handler_returned:
	breakpoint
	b	.
 UNWIND(.fnend				)
ENDPROC(rust_kprobes_jprobe_enter)

/* The handler has called jprobe_return(), which has checked that it may. */
ENTRY(rust_kprobes_jprobe_return_trap)
	breakpoint
ENDPROC(rust_kprobes_jprobe_return_trap)
