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
#include "arch.h"

enum target_number {
	TARGET_MOVE,		/* runs as a copy that goes on by itself */
	TARGET_RIP,		/* the same, relative to where it stands */
	TARGET_LOAD,		/* runs as a copy that always comes back */
	TARGET_JUMP,		/* the others are emulated */
	TARGET_CALL,
	TARGET_RETURN,
	TARGET_TRACED,		/* ftrace calls */
	TARGETS
};

/* What has an anchor while a storm is strict. */
struct anchored {
	const char *name;
	const u8 *site;
	struct kprobe anchor;
	atomic_long_t calls, hits;
};

struct target {
	struct anchored;
	long (*function)(long value);	/* adds five */
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
void storm_call(enum target_number number, long value);
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

/* targets.S */
extern const u8 storm_text_begin[], storm_text_end[];
extern const u8 storm_move_site[], storm_rip_site[], storm_load_site[],
	storm_jump_site[], storm_call_site[], storm_return_site[];
asmlinkage long storm_move(long value);
asmlinkage long storm_rip(long value);
asmlinkage long storm_load(long value);
asmlinkage long storm_jump(long value);
asmlinkage long storm_calls(long value);
asmlinkage long storm_return(long value);
long storm_traced(long value);

/* Bytes of the instruction at storm_move_site. */
#define STORM_MOVE_LEN	10

#endif
