/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that the cases of jumps probe on arm, where a jump replaces one
 * instruction.
 */
#include <linux/linkage.h>
#include <asm/assembler.h>

	.text

/* long clauses_invoke(long first, long second, const void *function) */
SYM_FUNC_START(clauses_invoke)
	bx	r2
SYM_FUNC_END(clauses_invoke)

/* Each adds five. The third function tells that the optimizer has been here. */
.irp name, plain, second, third
	.balign	16
SYM_FUNC_START(optimize_\name)
	add	r0, r0, #5
	ret	lr
	nop
	nop
SYM_FUNC_END(optimize_\name)
.endr
