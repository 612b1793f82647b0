/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The trampoline of return probes: functions with a hooked return come here. It
 * calls the handlers, and continues at the real return address.
 *
 * The handlers see all registers. An unwinder takes them for those of an
 * exception: their PC is the real return address while the handlers run.
 */
#include <linux/linkage.h>
#include <asm/asm-offsets.h>
#include <asm/assembler.h>
#include <asm/unwind.h>

/* The registers, and the frame record for frame pointers: FP, the return address. */
#define FRAME_SIZE	(PT_REGS_SIZE + 8)

	.section .kprobes.text, "ax"
 ARM(	.arm	)
 THUMB(	.thumb	)

ENTRY(arch_rethook_trampoline)
 UNWIND(.fnstart			)
	sub	sp, sp, #FRAME_SIZE
	stmia	sp, {r0 - r12}
	add	r1, sp, #FRAME_SIZE
	badr	r2, arch_rethook_trampoline
	mrs	r3, cpsr
 THUMB(	orr	r3, r3, #PSR_T_BIT	)
	mvn	r4, #0
	str	r1, [sp, #S_SP]
	str	r2, [sp, #S_LR]
	str	r2, [sp, #S_PC]
	.globl	rust_kprobes_return_frame
rust_kprobes_return_frame:
	str	r3, [sp, #S_PSR]
	str	r4, [sp, #S_OLD_R0]
 UNWIND(.save	{r0 - pc}		)
#ifndef CONFIG_ARM_UNWIND
	str	fp, [sp, #PT_REGS_SIZE]
	str	r2, [sp, #PT_REGS_SIZE + 4]
	add	fp, sp, #PT_REGS_SIZE
#endif
	mov	r0, #0
	mov	r1, sp
	bl	rust_kprobes_call_handlers
	/* The flags, and GE, which media instructions set. */
	ldr	r1, [sp, #S_PSR]
	msr	cpsr_fs, r1
 ARM(	ldmia	sp, {r0 - pc}		)
	/* LDM of Thumb does not load SP: PC is loaded from the place of R0. */
 THUMB(	ldmia	sp, {r0 - r12}		)
 THUMB(	ldr	lr, [sp, #S_PC]		)
 THUMB(	str	lr, [sp]		)
 THUMB(	ldr	lr, [sp, #S_LR]		)
 THUMB(	ldr	pc, [sp], #FRAME_SIZE	)
 UNWIND(.fnend				)
ENDPROC(arch_rethook_trampoline)
