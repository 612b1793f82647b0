/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Macros, to be included, for tests that load all registers from a struct, run
 * code, and store all registers back.
 */

/* The registers that a function must preserve. */
#define CALLEE_SAVED	rbx, rbp, r12, r13, r14, r15

.macro PUSH_ALL names:vararg
	.irp	name, \names
	pushq	%\name
	.endr
.endm

/* The last one of @names first. */
.macro POP_ALL name names:vararg
	.ifnb	\names
	POP_ALL	\names
	.endif
	popq	%\name
.endm

/* From @at(%base) on, one after the other. */
.macro LOAD_ALL base at names:vararg
	.set	offset, \at
	.irp	name, \names
	movq	offset(%\base), %\name
	.set	offset, offset + 8
	.endr
.endm

.macro STORE_ALL base at names:vararg
	.set	offset, \at
	.irp	name, \names
	movq	%\name, offset(%\base)
	.set	offset, offset + 8
	.endr
.endm
