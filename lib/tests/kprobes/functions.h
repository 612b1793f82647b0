/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Macros for the functions and labels in each architecture's target.S, which
 * defines FUNCTION_BEGIN, its first instruction or nothing, and FUNCTION_RETURN.
 */
#ifndef _KPROBES_CLAUSES_FUNCTIONS_H
#define _KPROBES_CLAUSES_FUNCTIONS_H

#include <linux/linkage.h>

.macro FUNCTION name
SYM_FUNC_START(\name)
	FUNCTION_BEGIN
.endm

.macro LABEL name
SYM_INNER_LABEL(\name, SYM_L_GLOBAL)
.endm

/* A function that is probed at its first instruction. */
.macro PROBED name
FUNCTION \name
LABEL \name\()_site
.endm

.macro END name
	FUNCTION_RETURN
SYM_FUNC_END(\name)
.endm

/* The macro for the number of each function of clauses_row(). */
.macro FOR_EACH_OF_ROW macro
	.irp	number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19
	\macro	\number
	.endr
.endm

#endif
