/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions and labels of target.S.
 */
#ifndef _X86_KPROBES_TESTS_TARGET_H
#define _X86_KPROBES_TESTS_TARGET_H

#include <linux/compiler.h>
#include <linux/linkage.h>
#include <linux/types.h>
#include "clauses.h"

/* Each adds five. */
asmlinkage long clauses_move(long value);
asmlinkage long clauses_inner(long value);
asmlinkage long clauses_rip(long value);
asmlinkage long clauses_jump(long value);
asmlinkage long clauses_branch(long value);
asmlinkage long clauses_call_site_in(long value);
asmlinkage long clauses_return(long value);

/* The instructions to probe, and where some go on. */
extern const u8 clauses_move_site[], clauses_move_next[];
extern const u8 clauses_inner_site[];
extern const u8 clauses_rip_site[], clauses_rip_next[];
extern const u8 clauses_jump_site[], clauses_jump_next[];
extern const u8 clauses_branch_site[], clauses_branch_next[];
extern const u8 clauses_call_site[], clauses_return_site[];
extern const u8 clauses_load_ss[], clauses_ud2[], clauses_far[];

/* These may fault. */
asmlinkage long clauses_load(const long *from);
asmlinkage long clauses_load_user(const long *from);
asmlinkage long clauses_load_zeropad(const void *from);
asmlinkage long clauses_rdmsr(u32 number);
asmlinkage long clauses_bare_load(const long *from);
extern const u8 clauses_load_site[], clauses_load_user_site[];
extern const u8 clauses_load_zeropad_site[], clauses_rdmsr_site[];
extern const u8 clauses_bare_load_site[], clauses_bare_load_out[];
asmlinkage long clauses_leaf(long value);
asmlinkage long clauses_leaf_clac(long value);
asmlinkage long clauses_call_memory(const unsigned long *from, long value);
asmlinkage long clauses_call_user(const unsigned long *from, long value);
extern const u8 clauses_call_memory_site[], clauses_call_memory_out[];
extern const u8 clauses_call_user_site[];

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

/* So many moves of five bytes, 16 in a function. */
#define ROW		320
#define ROW_BYTES	(20 * 96)

asmlinkage void clauses_row(void);
extern const u8 clauses_row_begin[];

/* Before a function's entry there may be a mark for indirect calls. */
#define MARK_BYTES	(IS_ENABLED(CONFIG_X86_KERNEL_IBT) ? 4 : 0)

static inline u8 const *row_site(int number)
{
	return hidden(clauses_row_begin) + number / 16 * 96 + MARK_BYTES +
	       number % 16 * 5;
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

#endif
