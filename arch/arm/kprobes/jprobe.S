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
#define MOST_WORDS	16

/* struct JprobeEntry in sys/this_cpu.rs */
#define WORDS		0
#define HANDLER		4
#define PAUSE		8

/* The breakpoint of isa/mod.rs, without a condition. */
#define BREAKPOINT	0xe7f001f8

	.section .kprobes.text, "ax"
	.arm

ENTRY(rust_kprobes_jprobe_enter)
 UNWIND(.fnstart			)
	/* A frame that FP leads to, too. */
	stmdb	sp!, {fp, lr}
 UNWIND(.save	{fp, lr}		)
	mov	fp, sp
	add	r6, sp, #8
	sub	sp, sp, #MOST_WORDS * 4
 UNWIND(.pad	#MOST_WORDS * 4		)
	this_cpu_offset r4
	mov_l	r5, rust_kprobes_jprobe_state
	add	r4, r4, r5
	ldr	r5, [r4, #PAUSE]
	ldr	r7, [r5]
	add	r7, r7, #1
	str	r7, [r5]
	ldr	r5, [r4, #WORDS]
0:	subs	r5, r5, #1
	ldrpl	r7, [r6, r5, lsl #2]
	strpl	r7, [sp, r5, lsl #2]
	bpl	0b
	adr	lr, rust_kprobes_jprobe_returned
	ldr	pc, [r4, #HANDLER]

	/* The handler has returned. */
	.globl	rust_kprobes_jprobe_returned
rust_kprobes_jprobe_returned:
	.inst	BREAKPOINT
	b	.
 UNWIND(.fnend				)
ENDPROC(rust_kprobes_jprobe_enter)

/* The handler has called jprobe_return(), which has checked that it may. */
ENTRY(rust_kprobes_jprobe_over)
	.inst	BREAKPOINT
	b	.
ENDPROC(rust_kprobes_jprobe_over)
