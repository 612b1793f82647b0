/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The way into a form, with all registers loaded, and out of it, with all of
 * them stored.
 *
 * Traps in the form need a stack that the kernel knows. So register 15 is on the
 * task's own stack all the time: at forms_window, whose frame the form may use,
 * FORMS_DISTANCE below the caller at least. No instruction between loading and
 * storing changes the condition code, or a register before it is stored.
 */
#include <linux/linkage.h>
#include "forms.h"

	.text

/* forms_run(in, out, stub) */
SYM_FUNC_START(forms_run)
	stmg	%r6,%r15,48(%r15)
	stgrl	%r3,forms_out
	stgrl	%r15,forms_sp
	larl	%r5,forms_system_mask
	stosm	0(%r5),0
	ipm	%r0
	strl	%r0,forms_program_mask
	larl	%r5,forms_acr
	stam	%a0,%a15,0(%r5)

	lgrl	%r15,forms_window
	mvc	0(FORMS_STACK,%r15),FORMS_STACK_AT(%r2)
	vlm	%v0,%v15,FORMS_VXR(%r2)
	vlm	%v16,%v31,FORMS_VXR+256(%r2)
	lfpc	FORMS_FPC(%r2)
	lam	%a0,%a15,FORMS_ACR(%r2)

	/* What SPM takes of the PSW stands 16 bits further to the right. */
	lg	%r1,FORMS_FLAGS(%r2)
	srlg	%r1,%r1,16
	spm	%r1
	lg	%r1,FORMS_GPR+8(%r2)
	stgrl	%r1,forms_r1
	lgr	%r1,%r4
	ssm	FORMS_FLAGS(%r2)
	lg	%r0,FORMS_GPR(%r2)
	lmg	%r2,%r14,FORMS_GPR+16(%r2)
	/* A stub begins with loading register 1. */
	br	%r1
SYM_FUNC_END(forms_run)

	.macro	landing name where
SYM_CODE_START(\name)
	stgrl	%r0,forms_r0
	lghi	%r0,\where
	jg	forms_back
SYM_CODE_END(\name)
	.endm

	landing	forms_fell FORMS_FELL
	landing	forms_taken FORMS_TAKEN
	landing	forms_astray FORMS_ASTRAY
	/* The exception table, or the handler in state.c, leads here. */
	landing	forms_faulted FORMS_FAULTED

SYM_CODE_START_LOCAL(forms_back)
	stgrl	%r1,forms_r1
	lgrl	%r1,forms_out
	stmg	%r2,%r15,FORMS_GPR+16(%r1)
	stg	%r0,FORMS_WHERE(%r1)
	lgrl	%r0,forms_r0
	stg	%r0,FORMS_GPR(%r1)
	lgrl	%r0,forms_r1
	stg	%r0,FORMS_GPR+8(%r1)
	epsw	%r2,%r3
	st	%r2,FORMS_FLAGS(%r1)
	st	%r3,FORMS_FLAGS+4(%r1)
	lrl	%r2,forms_program_mask
	spm	%r2

	stfpc	FORMS_FPC(%r1)
	vstm	%v0,%v15,FORMS_VXR(%r1)
	vstm	%v16,%v31,FORMS_VXR+256(%r1)
	stam	%a0,%a15,FORMS_ACR(%r1)
	larl	%r2,forms_acr
	lam	%a0,%a15,0(%r2)
	lgrl	%r2,forms_window
	mvc	FORMS_STACK_AT(FORMS_STACK,%r1),0(%r2)

	lgrl	%r15,forms_sp
	larl	%r2,forms_system_mask
	ssm	0(%r2)
	lmg	%r6,%r15,48(%r15)
	br	%r14
SYM_CODE_END(forms_back)

	.bss
	.balign	8
forms_out:	.skip 8
forms_sp:	.skip 8
forms_r0:	.skip 8
	.globl	forms_r1
forms_r1:	.skip 8
forms_acr:	.skip 64
forms_program_mask:	.skip 4
forms_system_mask:	.skip 4

	.balign	8
	.globl	forms_window
forms_window:	.skip 8

	/* Within one page, as some instructions want it. */
	.globl	forms_scratch
	.balign	FORMS_SCRATCH
forms_scratch:	.skip FORMS_SCRATCH

	.section .note.GNU-stack, "", @progbits
