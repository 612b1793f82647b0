/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the cases of jumps probe on s390, where a jump takes the place of one
 * instruction of six bytes. No ftrace is here.
 */
#include <linux/linkage.h>

	.text

/* long clauses_invoke(long first, long second, const void *function) */
SYM_FUNC_START(clauses_invoke)
	br	%r4
SYM_FUNC_END(clauses_invoke)

/* Each adds five. The third function tells that the optimizer has been here. */
.irp name, plain, second, third
	.balign	16, 0x07
SYM_FUNC_START(optimize_\name)
	lay	%r2,2(%r2)
	lay	%r2,3(%r2)
	br	%r14
SYM_FUNC_END(optimize_\name)
.endr
