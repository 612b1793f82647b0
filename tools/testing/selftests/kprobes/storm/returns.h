/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A storm of return probes: which functions are called, what is known of each
 * call by those who watch it, and what the parts of it ask of each other.
 *
 * A walk is a call of return_start(), which calls functions that call each
 * other: RECURSE itself, so often, then PASS, then END. Where each returns to
 * is known, so whoever looks at the stack knows what must be there.
 */
#ifndef _KPROBES_RETURNS_H
#define _KPROBES_RETURNS_H

#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include "storm.h"

enum return_number {
	RETURN_LEAF,	/* assembly: all registers are compared */
	RETURN_INNER,	/* the same, called by the next one */
	RETURN_OUTER,
	RETURN_RECURSE,	/* ftrace calls; the others it does not */
	RETURN_PASS,
	RETURN_END,	/* sleeps, unwinds, or never returns */
	RETURNS
};

enum walk_end { WALK_BACK, WALK_UNWIND, WALK_SLEEP, WALK_EXIT };

/* How the stack of a thread goes on below return_start(). */
#define RETURN_TAIL	12

struct return_tail {
	unsigned int len;
	unsigned long at[RETURN_TAIL];	/* the first one: about there */
};

struct return_trace;

struct walk {
	enum walk_end end;
	unsigned int depth;		/* of the recursion, at most */
	unsigned int level;		/* about how deep it is */
	unsigned int naps;		/* odd while it sleeps */
	unsigned long sleep;		/* jiffies */
	bool under_way;
	const struct return_tail *tail;	/* NULL: not known */
	struct return_trace *learn;	/* where to note what is seen */
};

struct return_call {
	struct walk *walk;
	long value, left;
	const void *owner;		/* of the probe */
};

typedef long return_fn(struct walk *walk, long value, long left);

struct return_target {
	const char *name;
	return_fn *function;
	const void *twin;		/* of assembly, without a probe */
	atomic_long_t calls;
};

extern struct return_target return_targets[RETURNS];

/* What must not happen, and what must. */
struct return_counts {
	atomic_long_t wrong;		/* results, and registers */
	atomic_long_t mixed_up;		/* what was kept of a call */
	atomic_long_t late;		/* handlers after all was over */
	atomic_long_t refused;		/* registrations */
	atomic_long_t uneven;		/* more ends than calls */
	atomic_long_t miscounted;	/* calls of a probe's owner */
	atomic_long_t unwound_wrongly;
	/* Stacks that are right: seen by whom. */
	atomic_long_t by_itself, by_entries, by_returns, by_others, by_ticks;
	atomic_long_t cut;		/* while the switch is turned */
	atomic_long_t moved;		/* it had woken up meanwhile */
	atomic_long_t rounds;		/* of those who register */
	atomic_long_t lost;		/* calls that found no room */
	atomic_long_t deaths;		/* in a probed function */
	atomic_long_t killed;		/* of user space, while asleep there */
	atomic_long_t open;		/* calls under way: the most */
	atomic_long_t ticks;
};

extern struct return_counts return_counts;

/* returns_walk.c */
#define WALK_MOST	3	/* levels */
void return_start(struct walk *walk, long value);
return_fn return_recurse, return_pass, return_end;
long return_result(enum return_number number, long value, long left);
/* Calls a function by the way, from where nothing is known of the stack. */
void return_call(enum return_number number, struct walk *walk, long value);
void return_compare(enum return_number number, struct walk *walk, u32 bits);
extern wait_queue_head_t return_bed;

/* returns_probe.c */
int return_watch(void);
int return_unwatch(bool strict);
long return_open(void);
void return_weigh_meanwhile(void);
void return_note(struct return_call *call, struct pt_regs *regs,
		 const void *owner);
bool return_is_as_noted(const struct return_call *call,
			enum return_number number, const struct pt_regs *regs,
			const void *owner);

/* returns_kernel.c */
int return_watch_kernel(void);
int return_unwatch_kernel(void);

/* returns_churn.c */
#define RETURN_CHURNERS	3
int return_churner(long number);
extern bool return_strict;

/* returns_crowd.c */
#define RETURN_CROWD	1000
int return_crowd(void);
int return_onlooker(void);
int return_visit(unsigned int milliseconds, bool unused);
void return_open_gate(void);
int return_close_gate(void);

/* returns_unwind.c: whether the stack is as it must be. */
int return_learn(void);
int return_size_of(unsigned long at, unsigned long *size);
unsigned long return_trampoline(void);
void return_learn_tail(struct return_tail *tail);
void return_look_at_self(struct walk *walk);
void return_look_from_handler(const struct return_call *call,
			      enum return_number number, bool at_entry);
void return_look_at(struct task_struct *task, struct walk *walk);
void return_look_from_tick(struct walk *walk);

/* returns_targets.S */
extern const u8 return_text_begin[], return_text_end[];
extern const u8 return_twin_leaf[], return_twin_inner[], return_twin_outer[];
return_fn return_at_leaf, return_at_inner, return_at_outer;

#endif
