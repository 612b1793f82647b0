/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Macros that begin and end the functions of the storm.
 */
#include <linux/linkage.h>
#include <asm/assembler.h>
#include <asm/unwind.h>

/* A function whose callers an unwinder finds. */
.macro FUNCTION_BEGIN name
ENTRY(\name)
 UNWIND(.fnstart			)
.endm

.macro FUNCTION_END name
 UNWIND(.fnend				)
ENDPROC(\name)
.endm
