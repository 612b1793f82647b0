/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A storm: some threads and a timer hit all the time what other threads put
 * probes on and take them from.
 *
 * What is anchored has one probe at each target that stays; each call must
 * then be one hit of it, or one that it has missed.
 */
#ifndef _KPROBES_STORM_H
#define _KPROBES_STORM_H

#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/iopoll.h>
#include <linux/kprobes.h>
#include <linux/moduleparam.h>

/*
 * The architecture has functions, and:
 *
 * ARCH_TARGETS		what is hit: each is a site in targets.S, and the function
 *			that has it
 * ARCH_MOVE		the instruction at the site of "move"
 * ARCH_FLAGS		flags that the functions use or change
 * ARCH_CARRY		one of them
 * ARCH_INTERRUPT_FLAG	whether interrupts may come now, where a flag tells
 * ARCH_FIRST and so on	where struct storm_registers has arguments and the result
 * ARCH_MANY_CALLS	so many hooked calls are to be under way at once
 * ARCH_UNWINDS_OTHERS	can stack_trace_save_tsk() unwind another task?
 *
 * with jumps in the place of breakpoints also:
 *
 * ARCH_JUMPS		functions that jumps come to and go from, and whether each
 *			byte of the jump is one of the instructions that run
 * ARCH_MARK		bytes before a function's first instruction that may be probed
 * ARCH_INSIDE_ERRNO	what a probe inside an instruction is refused with
 * ARCH_BEFORE		bytes of the instruction before the place,
 * ARCH_JUMP_SIZE	of the jump, and
 * ARCH_TRAP_SIZE	from the place to the address that a trap shows
 * ARCH_DETOUR_BEGIN	instructions of a detour before what all have in common,
 * ARCH_DETOUR_END	behind it that stand for the place,
 * ARCH_DETOUR_COMMON	and the least number of those in common
 * ARCH_DETOUR_FRAMELESS has the common part no frame so many bytes into it? Then
 *			the place is shown
 * ARCH_DETOUR_WAITS	does it wait where somebody else wants to have the CPU?
 * ARCH_HIDES_CALLERS	does an interrupt where a function has no frame hide who
 *			has called it?
 * ARCH_BELOW_THREAD	functions below that of a thread, up to the end of its stack
 */
#include "arch.h"

/* What has an anchor while a storm is strict. */
struct anchored {
	const char *name;
	const u8 *site;
	struct kprobe anchor;
	atomic_long_t calls, hits;
};

typedef long storm_fn(long value);	/* adds five */

struct target {
	struct anchored;
	storm_fn *function;
};

/*
 * Functions of targets.S, of which each architecture has some; the last one is in
 * hit.c.
 */
storm_fn storm_move, storm_rip, storm_load, storm_store, storm_word;
storm_fn storm_relative, storm_mask, storm_jump, storm_calls, storm_return;
storm_fn storm_percpu, storm_traced;

/* What ftrace calls: the last of ARCH_TARGETS. */
#define STORM_TRACED	{ { "traced", (const u8 *)storm_traced }, storm_traced }

enum {
	TARGETS = sizeof((struct target[])ARCH_TARGETS) / sizeof(struct target),
	TARGET_TRACED = TARGETS - 1
};

extern struct target storm_targets[TARGETS];

/* What must not happen, and what must. */
struct storm_counts {
	atomic_long_t wrong;	/* a function returned something else */
	atomic_long_t late;	/* a handler was called after all was over */
	atomic_long_t refused;	/* a registration */
	atomic_long_t rounds;	/* of those who register */
	atomic_long_t hits;	/* of their probes */
	atomic_long_t ticks;	/* of the timers */
	atomic_long_t inside;	/* of these, in the copy of an instruction */
};

extern struct storm_counts storm_counts;
extern bool storm_over;		/* threads are to end */
extern unsigned int storm_tick_us;

/* Threads of one kind, each with its number. */
struct storm_crew {
	int (*run)(void *number);
	int count;
};

/*
 * What a timer on each CPU does; what it has interrupted, if known. Says in how
 * many microseconds it is to come again.
 */
typedef unsigned int storm_tick_fn(struct pt_regs *regs, long number);

/* By the clock: there may be fewer ticks than there should be. */
static inline void storm_sleep(unsigned int milliseconds)
{
	usleep_range(milliseconds * 1000, milliseconds * 1100);
}

/* What a parameter lets rage by the number that is written to it. */
struct storm_kind {
	int (*rage)(unsigned int number, bool strict);
	bool strict;
	int (*prepare)(void);		/* before it, if there is need */
	/* Text that must be what it was; none: others may rage meanwhile. */
	const u8 *begin, *end;
};

/* One of those that a parameter tells; one without a name is the last. */
struct storm_count {
	const char *name;
	atomic_long_t *count;
	enum { COUNT_ANY, COUNT_NONE, COUNT_SOME } wanted;
};

/* In a table of these: @of in @counts, and how much of it there must be. */
#define STORM_COUNT(counts, of, wanted)	{ #of, &(counts).of, wanted }

/* storm.c: each parameter has a struct storm_kind, or all of its counts. */
extern const struct kernel_param_ops storm_ops, storm_counts_ops;
/* Are all counts that must be none, or some, as they must be? */
bool storm_counts_are(const struct storm_count *count, int wanted);
/* The @anchor is that of a struct anchored, whose calls begin now. */
int storm_drop_anchor(struct kprobe *anchor, kprobe_pre_handler_t pre,
		      kprobe_post_handler_t post);
/* Each call is a hit, or one that was missed. */
int storm_weigh_anchor(struct kprobe *anchor);
void storm_fill(struct storm_registers *registers, u32 seed);
/* Has a function of that name left what its twin has? Says what it has not. */
bool storm_is_right(const char *name, const struct storm_registers *given,
		    const struct storm_registers *right,
		    const struct storm_registers *found, atomic_long_t *wrong);
/* A thread that ends by itself, and stays to be waited for. */
struct task_struct *storm_thread(int (*run)(void *data), void *data,
				 const char *name, int number);
/* Waits till @condition is true, for @seconds at most; 0 if it is. */
#define storm_wait_for(condition, seconds)				\
	poll_timeout_us(, condition, 20 * USEC_PER_MSEC,		\
			(seconds) * USEC_PER_SEC, false)

/* main.c */
void storm_rage(unsigned int seconds, const struct storm_crew crews[2],
		storm_tick_fn *tick, bool (*is_done)(void));

/* hit.c */
#define HITTERS	4
int storm_hitter(void *number);
void storm_call(unsigned int number, long value);
unsigned int storm_tick(struct pt_regs *regs, long number);
void storm_ran(int times);
/*
 * When a timer is to come again on this CPU: where the machine is slow, timers
 * might leave no time for anything else, so tasks are to run a @few times
 * between them.
 */
unsigned int storm_pace(unsigned int least, int few);
void storm_start_timers(storm_tick_fn *tick);
void storm_stop_timers(void);

/* churn.c */
#define CHURNERS 3
int storm_churner(void *number);

/* targets.S: a function runs with these registers, so many times. */
asmlinkage void storm_run(struct storm_registers *registers,
			  const void *function, long times);
/* Where it comes back to, and where before the last time. */
extern const u8 storm_came_back[], storm_came_back_once[];
extern const u8 storm_text_begin[], storm_text_end[];

#endif
