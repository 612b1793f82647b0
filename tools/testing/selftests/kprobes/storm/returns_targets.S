/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a storm of return probes hits, as far as all registers are compared:
 * each function is there twice, once for probes, and its twin, which tells what
 * must come out. The second argument is a number, and the result another one.
 */
	.text
	.balign	64
	.globl	return_text_begin
return_text_begin:

/* Macros that make a function of a name, the second one of one that calls another. */
#include "returns_bodies.S"

LEAF return_at_leaf
LEAF return_twin_leaf
LEAF return_at_inner
LEAF return_twin_inner
OUTER return_at_outer return_at_inner
OUTER return_twin_outer return_twin_inner

	.globl	return_text_end
return_text_end:
	nop
