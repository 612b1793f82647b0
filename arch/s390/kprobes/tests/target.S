/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the s390 cases probe: instructions that run as copies, are emulated, or
 * fault. No ftrace here, so these are hit by breakpoints. Instructions that the
 * assembler may not know are written as bytes.
 */
#include <asm/asm-extable.h>
#include <asm/asm-offsets.h>

#define FUNCTION_BEGIN
#define FUNCTION_RETURN	br	%r14
#include "functions.h"

	.text

/* long clauses_move(long value): goes on by itself unless it must come back. */
PROBED clauses_move
	la	%r2,5(%r2)
LABEL clauses_move_next
END clauses_move

/* The same again, for handlers to call. */
PROBED clauses_inner
	la	%r2,5(%r2)
END clauses_inner

/* long clauses_rip(long value): relative to where it stands. */
PROBED clauses_rip
	lgrl	%r1,clauses_five
LABEL clauses_rip_next
	agr	%r2,%r1
END clauses_rip

PROBED clauses_jump
	j	1f
	nopr	%r7
LABEL clauses_jump_next
1:	la	%r2,5(%r2)
END clauses_jump

FUNCTION clauses_branch
	ltgr	%r1,%r2
LABEL clauses_branch_site
	jne	1f
	br	%r14
LABEL clauses_branch_next
1:	la	%r2,5(%r2)
END clauses_branch

FUNCTION clauses_leaf
	la	%r2,5(%r2)
END clauses_leaf

FUNCTION clauses_call_site_in
	lgr	%r1,%r14
LABEL clauses_call_site
	brasl	%r14,clauses_leaf
	br	%r1
SYM_FUNC_END(clauses_call_site_in)

FUNCTION clauses_return
	la	%r2,5(%r2)
LABEL clauses_return_site
END clauses_return

.macro REFUSED name, halfwords:vararg
LABEL clauses_\name
	.short	\halfwords
.endm

/* Instructions that are refused, never reached. */
FUNCTION clauses_refused
	br	%r14
REFUSED ex,	0x4410, 0x2000		/* ex %r1,0(%r2) */
REFUSED bsm,	0x0b12			/* bsm %r1,%r2 */
REFUSED bassm,	0x0c12			/* bassm %r1,%r2 */
REFUSED diag,	0x8312, 0x0044		/* diag %r1,%r2,0x44 */
REFUSED pr,	0x0101
REFUSED pc,	0xb218, 0x2000		/* pc 0(%r2) */
REFUSED pt,	0xb228, 0x0012		/* pt %r1,%r2 */
REFUSED bakr,	0xb240, 0x0012		/* bakr %r1,%r2 */
REFUSED bsa,	0xb25a, 0x0012		/* bsa %r1,%r2 */
REFUSED bsg,	0xb258, 0x0012		/* bsg %r1,%r2 */
REFUSED tbegin,	0xe560, 0x2000, 0xff00	/* tbegin 0(%r2),0xff00 */
REFUSED tend,	0xb2f8, 0x0000
/* C takes these. Where the first five lead is not in the text. */
REFUSED lpsw,	0x8200, 0x2000		/* lpsw 0(%r2) */
REFUSED lpswe,	0xb2b2, 0x2000		/* lpswe 0(%r2) */
REFUSED lpswey,	0xeb00, 0x2000, 0x0071	/* lpswey 0(%r2) */
REFUSED rp,	0xb277, 0x2000		/* rp 0(%r2) */
REFUSED pti,	0xb99e, 0x0012		/* pti %r1,%r2 */
REFUSED trap2,	0x01ff
REFUSED trap4,	0xb2ff, 0x2000		/* trap4 0(%r2) */
REFUSED svc,	0x0a01			/* svc 1 */
REFUSED sam31,	0x010d
/* No CPU has the first; how long the second is, nobody knows. */
REFUSED unknown, 0x0200
REFUSED zero,	0x0000
SYM_FUNC_END(clauses_refused)

/* long clauses_exrl(long value): EXRL gives the copy its length, eight bytes. */
FUNCTION clauses_exrl
	stg	%r2,__SF_EMPTY(%r15)
	lghi	%r1,7
LABEL clauses_exrl_site
	exrl	%r1,clauses_exrl_target
	lg	%r2,__SF_EMPTY+8(%r15)
	aghi	%r2,5
	br	%r14
LABEL clauses_exrl_target
	mvc	__SF_EMPTY+8(1,%r15),__SF_EMPTY(%r15)
SYM_FUNC_END(clauses_exrl)

/* long clauses_bic(long value, const void *to): to where the memory says. */
PROBED clauses_bic
	.short	0xe3f0, 0x3000, 0x0047	/* bic 15,0(%r3) */
	lghi	%r2,-1
	br	%r14
LABEL clauses_bic_next
	la	%r2,5(%r2)
END clauses_bic

/*
 * void f(struct clauses_masks *masks): the system mask is that from before when
 * it returns. The operand of SSM is in memory.
 */
.macro MASKS name, insn:vararg
FUNCTION clauses_\name
	stosm	2(%r2),0
LABEL clauses_\name\()_site
	\insn
	stosm	3(%r2),0
	ssm	2(%r2)
END clauses_\name
.endm

MASKS ssm,	ssm	0(%r2)
MASKS stnsm,	stnsm	1(%r2),0xfc
MASKS stosm,	stosm	1(%r2),0x03

FUNCTION clauses_epsw
	ltgr	%r0,%r2
LABEL clauses_epsw_site
	epsw	%r0,%r1
	stm	%r0,%r1,4(%r2)
END clauses_epsw

/* void clauses_stctg(u64 *to) */
PROBED clauses_stctg
	stctg	%c9,%c11,0(%r2)
END clauses_stctg

/* void clauses_lctlg(u64 *from): the old ones are behind, and come back. */
FUNCTION clauses_lctlg
	stctg	%c9,%c11,24(%r2)
LABEL clauses_lctlg_site
	lctlg	%c9,%c11,0(%r2)
	stctg	%c9,%c11,0(%r2)
	lctlg	%c9,%c11,24(%r2)
END clauses_lctlg

/* long clauses_load(const long *from): the value, or -14. */
PROBED clauses_load
	lg	%r2,0(%r2)
	br	%r14
LABEL clauses_load_fixup
	lghi	%r2,-14
END clauses_load
	EX_TABLE(clauses_load_site, clauses_load_fixup)

/* long clauses_store(const long *to): 0, or -14. This fault is behind the store. */
PROBED clauses_store
	stg	%r2,0(%r2)
	lghi	%r2,0
	br	%r14
LABEL clauses_store_fixup
	lghi	%r2,-14
END clauses_store
	EX_TABLE(clauses_store_site, clauses_store_fixup)

/* As clauses_load(), of user memory: eight bytes are moved to the stack. */
.macro LOAD_USER name
FUNCTION \name
	lhi	%r0,0x81
	lghi	%r1,8
LABEL \name\()_site
	mvcos	__SF_EMPTY(%r15),0(%r2),%r1
	lg	%r2,__SF_EMPTY(%r15)
	br	%r14
LABEL \name\()_out
	lghi	%r2,-14
END \name
.endm

LOAD_USER clauses_load_user
	EX_TABLE(clauses_load_user_site, clauses_load_user_out)
LOAD_USER clauses_touch_user

/*
 * long clauses_copy_user(void *to, const void *from, long bytes): what fixes it
 * up reads from the instruction which registers it uses.
 */
FUNCTION clauses_copy_user
	lhi	%r0,0x81
LABEL clauses_copy_user_site
	mvcos	0(%r2),0(%r3),%r4
	lgr	%r2,%r4
END clauses_copy_user
	EX_TABLE_UA_MVCOS_FROM(clauses_copy_user_site, clauses_copy_user_site)

/* long clauses_bare_load(const long *from): nobody expects it to fault. */
PROBED clauses_bare_load
	lg	%r2,0(%r2)
	br	%r14
LABEL clauses_bare_load_out
	lghi	%r2,-14
END clauses_bare_load

/* void clauses_row(void): through 20 functions of 16 moves, each 128 bytes. */
	.macro row_function number
	.balign	128, 0x07
SYM_FUNC_START_LOCAL_NOALIGN(clauses_row_\number)
	.rept 16
	lgfi	%r1,0x6b70726f
	.endr
	br	%r14
SYM_FUNC_END(clauses_row_\number)
	.endm

	.macro row_call number
	brasl	%r14,clauses_row_\number
	.endm

	.balign	128, 0x07
LABEL clauses_row_begin
	FOR_EACH_OF_ROW row_function

FUNCTION clauses_row
	lgr	%r5,%r14
	FOR_EACH_OF_ROW row_call
	br	%r5
SYM_FUNC_END(clauses_row)

	.section .rodata
	.balign	8
clauses_five:
	.quad	5
