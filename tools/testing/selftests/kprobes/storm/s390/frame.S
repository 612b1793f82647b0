/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Macros that make the frame of a function of the storm, and take it down.
 */
#include <asm/asm-offsets.h>
#include <asm/ptrace.h>

/* Where a frame has the address to return to. */
#define FRAME_RETURN	(__SF_GPRS + 8 * 8)

/* A frame, by which the stack can be unwound; register 1 is lost. */
.macro FRAME_BEGIN
	stg	%r14,FRAME_RETURN(%r15)
	lgr	%r1,%r15
	lay	%r15,-STACK_FRAME_OVERHEAD(%r15)
	stg	%r1,__SF_BACKCHAIN(%r15)
.endm

.macro FRAME_END
	lay	%r15,STACK_FRAME_OVERHEAD(%r15)
	lg	%r14,FRAME_RETURN(%r15)
.endm
