/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the cases of jumps in the place of breakpoints have in common, see
 * optimize.c, and the functions of optimize_target.S that they probe.
 */
#ifndef _X86_KPROBES_TESTS_OPTIMIZE_H
#define _X86_KPROBES_TESTS_OPTIMIZE_H

#include <linux/linkage.h>
#include <linux/ptrace.h>
#include <linux/text-patching.h>
#include "clauses.h"
#include "target.h"

/* Calls of functions that say nothing of what they are called with. */
asmlinkage long clauses_invoke(long first, long second, const void *function);
asmlinkage void clauses_invoke_with(struct pt_regs *regs, const void *function);

extern const u8 optimize_plain[], optimize_second[], optimize_third[];
extern const u8 optimize_rip[], optimize_registers[], optimize_memory[];
extern const u8 optimize_near_end[], optimize_near_end_next[];
extern const u8 optimize_into[], optimize_behind[];
extern const u8 optimize_indirect_jump[], optimize_label[];
extern const u8 optimize_fault_inside[], optimize_fixup_inside[];
extern const u8 optimize_fault_elsewhere[];
extern const u8 optimize_call[], optimize_indirect_call[];
extern const u8 optimize_branch[], optimize_jump[];
extern const u8 optimize_ud2[], optimize_int3[];
extern const u8 optimize_loop[], optimize_landing_pad[];

/* Bytes that are looked at of each function. */
#define BYTES		16

/* A place is where the function is, past the mark for indirect calls. */
static inline const u8 *place_in(const u8 *function)
{
	return hidden(function) + MARK_BYTES;
}

#define PLACE(symbol)	place_in(optimize_##symbol)
#define PLAIN		PLACE(plain)
#define SECOND		PLACE(second)
#define THIRD		PLACE(third)

/* The second instruction there: another probe would be in the jump. */
#define INSIDE		4

static inline long call(const u8 *function, long value)
{
	return clauses_invoke(value, 0, function);
}

u8 first(const u8 *at);

#define IS_JUMP(at)		(first(at) == JMP32_INSN_OPCODE)
#define IS_BREAKPOINT(at)	(first(at) == INT3_INSN_OPCODE)

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
