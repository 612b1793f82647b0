/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The way into the handler of a jprobe, and the two ways out.
 *
 * The probed function was about to begin: the stack is as its caller has left
 * it. Below that comes what the handler finds: an address to return to, and a
 * copy of what is on the stack above the caller's. Between the copy and the
 * original is a word more, so that the stack is aligned as it was. Where stacks
 * are unwound by frame pointers it makes a frame, with the address that the
 * function would return to: the function has not made its own yet.
 *
 * How many words to copy, the handler, and what holds the function graph tracer
 * off (as the handler's calls need not return), are in memory of the CPU, which
 * the task does not leave: ftrace does not give back all registers. No argument
 * is in those that are used here. All were saved, and are put back in the end.
 *
 * The handler is entered by a return, which no marks for indirect branches and
 * no checks of their targets are for.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/nospec-branch.h>
#include <asm/percpu.h>
#include <asm/unwind_hints.h>

/* Words of arguments that are copied at most. */
#define MOST_WORDS	8

/* As jprobes.rs has it. */
#define WORDS		PER_CPU_VAR(rust_kprobes_stand_in)
#define HANDLER		PER_CPU_VAR(rust_kprobes_stand_in + 8)
#define PAUSE		PER_CPU_VAR(rust_kprobes_stand_in + 16)

	.section .kprobes.text, "ax"

SYM_CODE_START(rust_kprobes_jprobe_enter)
	UNWIND_HINT_FUNC
	ANNOTATE_NOENDBR
	leaq	-((MOST_WORDS + 1) * 8)(%rsp), %rsp
#ifdef CONFIG_FRAME_POINTER
	movq	%rbp, (MOST_WORDS * 8)(%rsp)
	leaq	(MOST_WORDS * 8)(%rsp), %rbp
#endif
	movq	WORDS, %r10
	movq	PAUSE, %r11
	incl	(%r11)
	jmp	.Lcopied
.Lcopy:
	pushq	((MOST_WORDS + 1) * 8)(%rsp, %r10, 8)
	popq	-8(%rsp, %r10, 8)
	decq	%r10
.Lcopied:
	testq	%r10, %r10
	jnz	.Lcopy
	pushq	$rust_kprobes_jprobe_returned
	pushq	HANDLER
	RET

	/*
	 * It has returned. Its stack trace goes on with the function's caller; it
	 * asks for what is before the address, as behind a call. (To GNU's
	 * assembler spaces end a macro's argument, in brackets too.)
	 */
	.set	.Ldepth, (MOST_WORDS + 2) * 8
	UNWIND_HINT sp_reg=ORC_REG_SP sp_offset=.Ldepth type=UNWIND_HINT_TYPE_CALL
	nop
SYM_INNER_LABEL(rust_kprobes_jprobe_returned, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	int3
	ud2
SYM_CODE_END(rust_kprobes_jprobe_enter)

/* It has called jprobe_return(), which has found that it may. */
SYM_START(rust_kprobes_jprobe_over, SYM_L_GLOBAL, SYM_A_ALIGN)
	ANNOTATE_NOENDBR
	int3
	ud2
SYM_FUNC_END(rust_kprobes_jprobe_over)
