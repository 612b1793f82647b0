/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Enters the handler of a jprobe; has its two ends.
 *
 * The probed function has not begun: the stack is as its caller has left it.
 * This makes a frame with a copy of the arguments on the stack. The back chain
 * and the return address of the frame are stored as the function would store
 * them, so an unwinder finds the caller of the function.
 *
 * The number of words to copy, the handler, and the counter that pauses the
 * function graph tracer (the handler's calls need not return) are in per-CPU
 * memory. The task does not leave the CPU. All registers were saved, and are
 * restored in the end; arguments are in registers 2 to 6.
 */
#include <linux/linkage.h>
#include <asm/asm-offsets.h>
#include <asm/lowcore.h>
#include <asm/ptrace.h>

/* The limit of words to copy; the same as in sys/this_cpu.rs. */
#define MAX_WORDS	8

/* struct JprobeEntry in sys/this_cpu.rs */
#define WORDS		0
#define HANDLER		8
#define PAUSE		16

	.section .kprobes.text, "ax"

SYM_CODE_START(rust_kprobes_jprobe_enter)
	stg	%r14,(__SF_GPRS+8*8)(%r15)
	lgr	%r7,%r15
	aghi	%r15,-(STACK_FRAME_OVERHEAD + MAX_WORDS * 8)
	stg	%r7,__SF_BACKCHAIN(%r15)
	GET_LC	%r9
	larl	%r8,rust_kprobes_jprobe_state
	ag	%r8,__LC_PERCPU_OFFSET(%r9)
	lg	%r9,PAUSE(%r8)
	asi	0(%r9),1
	lg	%r9,WORDS(%r8)
	sllg	%r9,%r9,3
	ltgr	%r9,%r9
	jz	1f
0:	lg	%r0,STACK_FRAME_OVERHEAD-8(%r9,%r7)
	stg	%r0,STACK_FRAME_OVERHEAD-8(%r9,%r15)
	aghi	%r9,-8
	jnz	0b
1:	larl	%r14,rust_kprobes_jprobe_handler_returned
	lg	%r1,HANDLER(%r8)
	br	%r1

	/* The handler has returned. */
SYM_INNER_LABEL(rust_kprobes_jprobe_handler_returned, SYM_L_GLOBAL)
	.word	0x0002
	j	.
SYM_CODE_END(rust_kprobes_jprobe_enter)

/* The handler has called jprobe_return(), which has checked that it may. */
SYM_CODE_START(rust_kprobes_jprobe_return_trap)
	.word	0x0002
	j	.
SYM_CODE_END(rust_kprobes_jprobe_return_trap)
