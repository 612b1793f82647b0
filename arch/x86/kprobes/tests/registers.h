/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For assembly that runs code with registers of a test's choice: all registers
 * from a struct, and back.
 */
#ifndef KPROBES_TESTS_REGISTERS_H
#define KPROBES_TESTS_REGISTERS_H

/* What a function has to leave as it was. */
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

#endif
