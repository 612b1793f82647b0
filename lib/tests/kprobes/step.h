/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions and labels that each architecture has in its target.S. Its target.h has
 * others, prototypes of the cases in its fault_cases.h, and
 *
 * MOVE_BYTES		each move of clauses_row(),
 * ROW_STRIDE		and each of its functions
 * MARK_BYTES		before a function's entry, for indirect calls
 * CALL_BYTES		the room for the call of ftrace at an entry
 * TRAP_BYTES		from a breakpoint to the ip that handlers see,
 * FTRACE_TRAP_BYTES	and for those that ftrace calls
 * TRAP_IS_NMI		does a breakpoint come like an NMI?
 * AINSN_BYTES		the size of a struct arch_specific_insn
 * OPCODE		the word of an instruction as kprobes has it
 * HIT_PATH_OF_ARCH	functions on the way of a breakpoint and of a fault
 * REFUSED_INSNS	instructions that are refused, and by which errno
 * INSIDE_ERRNO		that of an address inside an instruction
 * PAGE_FAULT		what a fault handler is told of a page fault
 * OTHER_FAULT		an address of another kind of fault,
 * OTHER_TRAP		and what it is told of that
 *
 * of optimize_plain() and the jump there:
 *
 * FIRST_BYTES		the first instruction
 * BEHIND_BYTES		up to the first one behind the jump
 * JUMP_BYTES		the jump
 * ANOTHER_JUMP		up to where another jump may be, if any
 * OPCODE_BYTE		the byte by which JUMP_OPCODE and BREAKPOINT_OPCODE differ
 * SP_OF, MASK_OF	the stack pointer in saved registers, and the word with
 * MASK_BITS		those that mask interrupts
 * SP_MOVE		by how much a handler of a jump may move the stack
 * PLACES		what may be a jump, or why not: see optimize_rules.c
 */
#ifndef _KPROBES_CLAUSES_STEP_H
#define _KPROBES_CLAUSES_STEP_H

#include <linux/compiler.h>
#include <linux/linkage.h>
#include <linux/types.h>
#include "clauses.h"
#ifdef CLAUSES_TARGET
#include "target.h"

/* Each adds five. */
asmlinkage long clauses_move(long value);
asmlinkage long clauses_inner(long value);
asmlinkage long clauses_rip(long value);
asmlinkage long clauses_jump(long value);
asmlinkage long clauses_branch(long value);
asmlinkage long clauses_call_site_in(long value);
asmlinkage long clauses_return(long value);
asmlinkage long clauses_leaf(long value);

/* The instructions to probe, and where some go on. */
extern const u8 clauses_move_site[], clauses_move_next[];
extern const u8 clauses_inner_site[];
extern const u8 clauses_rip_site[], clauses_rip_next[];
extern const u8 clauses_jump_site[], clauses_jump_next[];
extern const u8 clauses_branch_site[], clauses_branch_next[];
extern const u8 clauses_call_site[], clauses_return_site[];

/* These may fault. */
asmlinkage long clauses_load(const long *from);
asmlinkage long clauses_load_user(const long *from);
asmlinkage long clauses_bare_load(const long *from);
extern const u8 clauses_load_site[], clauses_load_user_site[];
extern const u8 clauses_bare_load_site[], clauses_bare_load_out[];

/* Bytes that are looked at of each function. */
#define BYTES		16

/* A probe without handlers, with one before, or one after. */
#define FOR_EACH_HANDLER(kind)	for (int kind = 0; kind < 3; kind++)
#define KIND_AT(kind)							\
	.pre_handler = (kind) == 1 ? clauses_before : NULL,		\
	.post_handler = (kind) == 2 ? clauses_after : NULL

#define EXPECT_KIND(probe, kind)					\
	EXPECT_HITS(probe, (kind) == 1, (kind) == 2)

/* No page is there. */
#define UNMAPPED	((const long *)-4096UL)

/*
 * Text that the compiler cannot count from. What it counts it writes into an
 * instruction or data, where a kernel with retpolines and without IBT takes the
 * address of a place in a function for that of a label, and has no jump over it.
 */
static inline u8 const *hidden(const void *text)
{
	OPTIMIZER_HIDE_VAR(text);
	return text;
}

/* So many moves of MOVE_BYTES, 16 in a function. */
#define ROW		320
#define ROW_BYTES	(20 * ROW_STRIDE)

asmlinkage void clauses_row(void);
extern const u8 clauses_row_begin[];

static inline u8 const *row_site(int number)
{
	return hidden(clauses_row_begin) + number / 16 * ROW_STRIDE +
	       MARK_BYTES + number % 16 * MOVE_BYTES;
}

/* A probe on each move, and what is there without. */
struct many {
	struct counted probes[ROW];
	struct kprobe *batch[ROW];
	u8 text[ROW_BYTES];
};

struct many *clauses_many(struct kunit *test);

/* How many of them were hit once. */
int clauses_hit_once(const struct many *many);

#endif /* CLAUSES_TARGET */
#endif
