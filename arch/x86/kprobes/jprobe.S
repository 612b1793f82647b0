/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Enters the handler of a jprobe, and has the handler's two ends.
 *
 * The probed function has not begun: the stack is as its caller has left it.
 * This code pushes a copy of the arguments on the stack, and a return address. A
 * word between copy and original keeps the stack aligned. With frame pointers
 * that word is the saved frame pointer of a frame, next to the function's return
 * address: the function has not made its own frame yet.
 *
 * The number of words to copy, the handler, and the counter that pauses the
 * function graph tracer (the handler's calls need not return) are in per-CPU
 * memory: ftrace does not restore all registers. The task does not leave the CPU.
 * No argument is in the registers that are used here. All registers were saved,
 * and are restored in the end.
 *
 * The handler is entered by a return, which needs no ENDBR and no check of the
 * target.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/nospec-branch.h>
#include <asm/percpu.h>
#include <asm/unwind_hints.h>

/* The limit of words to copy; the same as in sys/this_cpu.rs. */
#define MAX_WORDS	8

/* struct JprobeEntry in sys/this_cpu.rs */
#define WORDS		PER_CPU_VAR(rust_kprobes_jprobe_state)
#define HANDLER		PER_CPU_VAR(rust_kprobes_jprobe_state + 8)
#define PAUSE		PER_CPU_VAR(rust_kprobes_jprobe_state + 16)

	.section .kprobes.text, "ax"

SYM_CODE_START(rust_kprobes_jprobe_enter)
	UNWIND_HINT_FUNC
	ANNOTATE_NOENDBR
	leaq	-((MAX_WORDS + 1) * 8)(%rsp), %rsp
#ifdef CONFIG_FRAME_POINTER
	movq	%rbp, (MAX_WORDS * 8)(%rsp)
	leaq	(MAX_WORDS * 8)(%rsp), %rbp
#endif
	movq	WORDS, %r10
	movq	PAUSE, %r11
	incl	(%r11)
	jmp	.Lcopied
.Lcopy:
	pushq	((MAX_WORDS + 1) * 8)(%rsp, %r10, 8)
	popq	-8(%rsp, %r10, 8)
	decq	%r10
.Lcopied:
	testq	%r10, %r10
	jnz	.Lcopy
	pushq	$rust_kprobes_jprobe_handler_returned
	pushq	HANDLER
	RET

	/*
	 * The handler has returned. In a stack trace, its caller is the function's
	 * caller. The unwinder looks up the address less one, hence the NOP. (In
	 * GNU's assembler spaces end a macro's argument, in brackets too.)
	 */
	.set	.Ldepth, (MAX_WORDS + 2) * 8
	UNWIND_HINT sp_reg=ORC_REG_SP sp_offset=.Ldepth type=UNWIND_HINT_TYPE_CALL
	nop
SYM_INNER_LABEL(rust_kprobes_jprobe_handler_returned, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	int3
	ud2
SYM_CODE_END(rust_kprobes_jprobe_enter)

/* The handler has called jprobe_return(), which has checked that it may. */
SYM_START(rust_kprobes_jprobe_return_trap, SYM_L_GLOBAL, SYM_A_ALIGN)
	ANNOTATE_NOENDBR
	int3
	ud2
SYM_FUNC_END(rust_kprobes_jprobe_return_trap)
