/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The way into a form, with all registers loaded, and out of it, with all of
 * them stored.
 *
 * Traps in the form need a stack that the kernel knows. So SP is on the task's own
 * stack all the time: in forms_window, FORMS_DISTANCE below the caller at least. No
 * instruction between loading and storing changes the flags. The register of user
 * space's that keeps r0 at the end is switched with the task.
 */
#include <linux/linkage.h>
#include <asm/unified.h>
#include "forms.h"

#ifdef CONFIG_THUMB2_KERNEL
#define IS_THUMB	1
#else
#define IS_THUMB	0
#endif

#define GPR(number)	[r0, #8 * number]

	.text
 ARM(	.arm	)
 THUMB(	.thumb	)

	.macro	copy_words from to
	mov	r6, #FORMS_STACK
1:	ldr	r7, [\from], #4
	subs	r6, r6, #4
	str	r7, [\to], #4
	bne	1b
	.endm

/* forms_run(in, out, stub) */
ENTRY(forms_run)
	push	{r4 - r11, lr}
	ldr	r3, =forms_kept
	mrs	r4, cpsr
	str	sp, [r3]
	str	r1, [r3, #4]
	str	r4, [r3, #8]
	ldr	r4, [r3, #12]
	add	r5, r4, #FORMS_BELOW
	mov	sp, r5
	add	r5, r0, #FORMS_STACK_AT
	copy_words r5, r4
	ldr	r4, GPR(12)
	str	r4, [r3, #16]
	orr	ip, r2, #IS_THUMB
	ldr	r4, [r0, #FORMS_FLAGS]
	msr	cpsr_fsxc, r4
	.irp	number, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
	ldr	r\number, GPR(\number)
	.endr
	ldr	lr, GPR(14)
	ldr	r0, GPR(0)
	/* A stub begins with loading this register. */
	bx	ip
ENDPROC(forms_run)

	.macro	landing name where
ENTRY(\name)
	mcr	p15, 0, r0, c13, c0, 2
	ldr	r0, =forms_kept
	ldr	r0, [r0, #4]
	str	r1, GPR(1)
	mov	r1, #\where
	b	forms_back
ENDPROC(\name)
	.endm

	landing	forms_fell FORMS_FELL
	landing	forms_taken FORMS_TAKEN
	landing	forms_astray FORMS_ASTRAY

forms_back:
	str	r1, [r0, #FORMS_WHERE]
	.irp	number, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
	str	r\number, GPR(\number)
	.endr
	mrs	r1, cpsr
	str	r1, [r0, #FORMS_FLAGS]
	mrc	p15, 0, r1, c13, c0, 2
	str	r1, GPR(0)
	ldr	r3, =forms_kept
	ldr	r4, [r3, #12]
	add	r5, r0, #FORMS_STACK_AT
	copy_words r4, r5
	ldr	r4, [r3, #8]
	ldr	sp, [r3]
	msr	cpsr_fsxc, r4
	pop	{r4 - r11, pc}
	.ltorg

	.bss
	.balign	8
/* The stack pointer, where the outcome goes, CPSR, the window, ip. */
forms_kept:	.skip 12
	.globl	forms_window
forms_window:	.skip 4
	.globl	forms_ip
forms_ip:	.skip 4

	.globl	forms_scratch
	.balign	FORMS_SCRATCH
forms_scratch:	.skip FORMS_SCRATCH

	.section .note.GNU-stack, "", %progbits
