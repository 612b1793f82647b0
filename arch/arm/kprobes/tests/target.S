/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The instructions that the arm cases probe: they run as copies, are emulated, or
 * fault. In Thumb kernels those that are probed have 32 bits, where there are such.
 */
#include <asm/assembler.h>
#include <asm/uaccess-asm.h>
#include <asm/unified.h>

#define FUNCTION_BEGIN
#define FUNCTION_RETURN	ret	lr
#include "functions.h"

	.text

.macro FIXED_UP site, fixup
	.pushsection __ex_table, "a"
	.balign	4
	.long	\site, \fixup
	.popsection
.endm

/* long clauses_move(long value): the copy goes on by itself if there is no post handler. */
PROBED clauses_move
	W(add)	r0, r0, #5
LABEL clauses_move_next
END clauses_move

/* The same again, for handlers to call. */
PROBED clauses_inner
	W(add)	r0, r0, #5
END clauses_inner

/* long clauses_rip(long value): reads PC. */
PROBED clauses_rip
	W(ldr)	r1, 1f
LABEL clauses_rip_next
	add	r0, r0, r1
	ret	lr
	.balign	4
1:	.long	5
SYM_FUNC_END(clauses_rip)

PROBED clauses_jump
	W(b)	clauses_jump_next
	nop
LABEL clauses_jump_next
	add	r0, r0, #5
END clauses_jump

FUNCTION clauses_branch
	cmp	r0, #0
LABEL clauses_branch_site
	W(bne)	1f
	ret	lr
LABEL clauses_branch_next
1:	add	r0, r0, #5
END clauses_branch

FUNCTION clauses_leaf
	add	r0, r0, #5
END clauses_leaf

FUNCTION clauses_call_site_in
	push	{r4, lr}
LABEL clauses_call_site
	bl	clauses_leaf
	pop	{r4, pc}
SYM_FUNC_END(clauses_call_site_in)

FUNCTION clauses_return
	add	r0, r0, #5
LABEL clauses_return_site
END clauses_return

.macro REFUSED name, insn:vararg
LABEL clauses_\name
	\insn
.endm

/* Instructions that are refused, never reached. GNU as would lose a space before a #. */
	.arch_extension virt
	.arch_extension sec
FUNCTION clauses_refused
	ret	lr
REFUSED svc,	svc	0
REFUSED udf,	udf	0
REFUSED breakpoint, udf	0x18
REFUSED bkpt,	bkpt	0
REFUSED hvc,	hvc	0
REFUSED smc,	smc	0
REFUSED cps,	cps	31
REFUSED setend,	setend	be
REFUSED srs,	srsdb	sp!, #19
REFUSED rfe,	rfeia	sp!
REFUSED spsr,	mrs	r0, spsr
REFUSED bxj,	bxj	r0
 ARM(	REFUSED movs,	movs	pc, lr		)
 ARM(	REFUSED ldm,	ldmia	sp!, {r0, pc}^	)
 THUMB(	REFUSED movs,	subs	pc, lr, #0	)
 THUMB(	REFUSED ldm,	rfedb	r0		)
SYM_FUNC_END(clauses_refused)

/* long clauses_load(const long *from): the value, or -14. */
PROBED clauses_load
	W(ldr)	r0, [r0]
	ret	lr
1:	mvn	r0, #13
END clauses_load
	FIXED_UP clauses_load_site, 1b

/* The same, of user memory. */
FUNCTION clauses_load_user
	uaccess_enable r1
LABEL clauses_load_user_site
	W(ldr)	r0, [r0]
	uaccess_disable r1
	ret	lr
1:	uaccess_disable r1
	mvn	r0, #13
END clauses_load_user
	FIXED_UP clauses_load_user_site, 1b

/* long clauses_bare_load(const long *from): nobody expects it to fault. */
PROBED clauses_bare_load
	W(ldr)	r0, [r0]
	ret	lr
LABEL clauses_bare_load_out
	mvn	r0, #13
END clauses_bare_load

/* void clauses_row(void): through 20 functions of 16 moves, each 128 bytes. */
	.macro row_function number
	.balign	128
SYM_FUNC_START_LOCAL_NOALIGN(clauses_row_\number)
	.rept	16
	movw	r0, #0x6b70
	.endr
	ret	lr
SYM_FUNC_END(clauses_row_\number)
	.endm

	.macro row_call number
	bl	clauses_row_\number
	.endm

	.balign	128
LABEL clauses_row_begin
	FOR_EACH_OF_ROW row_function

FUNCTION clauses_row
	push	{r4, lr}
	FOR_EACH_OF_ROW row_call
	pop	{r4, pc}
SYM_FUNC_END(clauses_row)
