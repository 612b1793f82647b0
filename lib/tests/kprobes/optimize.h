/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the cases of jumps in the place of breakpoints have in common, see
 * optimize.c, and functions that each architecture's optimize_target.S has.
 */
#ifndef _KPROBES_CLAUSES_OPTIMIZE_H
#define _KPROBES_CLAUSES_OPTIMIZE_H

#include "step.h"

/* Calls of functions that say nothing of what they are called with. */
asmlinkage long clauses_invoke(long first, long second, const void *function);

extern const u8 optimize_plain[], optimize_second[], optimize_third[];

/* A place is where the function is, past the mark for indirect calls. */
static inline const u8 *place_in(const u8 *function)
{
	return hidden(function) + MARK_BYTES;
}

#define PLACE(symbol)	place_in(optimize_##symbol)
#define PLAIN		PLACE(plain)
#define SECOND		PLACE(second)
#define THIRD		PLACE(third)

static inline long call(const u8 *function, long value)
{
	return clauses_invoke(value, 0, function);
}

/* The byte by which a breakpoint and a jump are told apart. */
u8 opcode_byte(const u8 *at);

#define IS_JUMP(at)		(opcode_byte(at) == JUMP_OPCODE)
#define IS_BREAKPOINT(at)	(opcode_byte(at) == BREAKPOINT_OPCODE)

static inline bool becomes_a_jump(const u8 *at)
{
	return COMES_TRUE(IS_JUMP(at));
}

bool is_restored(const u8 *at, const u8 *before);

/* One that has waited for a probe that came later has waited for this one. */
bool optimizer_was_here(struct kunit *test);

/* Says it to debug.kprobes-optimization. */
int say(const char *text);

/* Before each case, and each suite, and after. */
int begin(struct kunit *test);
int open_switch(struct kunit_suite *suite);
void close_switch(struct kunit_suite *suite);

#define WITH_SWITCH			\
	.init = begin,			\
	.suite_init = open_switch,	\
	.suite_exit = close_switch

#endif
