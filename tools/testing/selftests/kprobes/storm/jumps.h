/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A storm of jumps in the place of breakpoints: what is hit, what an interrupt
 * may find there, and what the parts of it ask of each other.
 */
#ifndef _KPROBES_JUMPS_H
#define _KPROBES_JUMPS_H

/* Places in jump_row(), and their bytes. */
#define JUMP_ROW	256
#define JUMP_ROW_BYTES	14

#ifndef __ASSEMBLER__

#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include "storm.h"

struct jump_spot {
	unsigned long original;	/* what it stands for; 0: no instruction */
	bool rare;		/* only where somebody waits for the CPU */
	atomic_long_t seen;
};

/* Bytes of a function from its place on, of a detour, of their common part. */
#define JUMP_TEXT	32
#define JUMP_SLOT	64
#define JUMP_COMMON	256
#define JUMP_INSNS	16

struct jump_target {
	struct anchored;
	const u8 *function, *twin;
	bool straight;		/* each byte of the jump is one of instructions */
	/* What runs from the place on, without carry and with it. */
	unsigned long insns[2][JUMP_INSNS];
	struct jump_spot text[JUMP_TEXT], slot[JUMP_SLOT];
	atomic_long_t by_jump, by_trap;
	bool was_jump;
	long came, went;	/* jumps */
};

/* A row of ARCH_JUMPS. */
#define JUMP(of, is_straight) {						\
	.name = #of, .function = jump_at_##of, .twin = jump_twin_##of,	\
	.straight = is_straight						\
}

/* Functions of jump_targets.S, of which each architecture has some. */
extern const u8 jump_at_plain[], jump_twin_plain[];
extern const u8 jump_at_cond[], jump_twin_cond[];
extern const u8 jump_at_leave[], jump_twin_leave[];
extern const u8 jump_at_one[], jump_twin_one[];
extern const u8 jump_at_load[], jump_twin_load[];
extern const u8 jump_at_media[], jump_twin_media[];
extern const u8 jump_at_stack[], jump_twin_stack[];
extern const u8 jump_at_relative[], jump_twin_relative[];
extern const u8 jump_at_call[], jump_twin_call[];
extern const u8 jump_at_many[], jump_twin_many[];
extern const u8 jump_at_fork[], jump_twin_fork[];
extern const u8 jump_at_away[], jump_twin_away[];
extern const u8 jump_at_rip[], jump_twin_rip[];

/* Of the first few all boundaries are watched. */
enum {
	JUMPS_WATCHED = 4,
	JUMPS = sizeof((struct jump_target[])ARCH_JUMPS) /
		sizeof(struct jump_target)
};

extern struct jump_target jump_targets[JUMPS];

#define FOR_EACH_JUMP(target)						\
	for (struct jump_target *target = jump_targets;			\
	     target < jump_targets + JUMPS; target++)

extern struct jump_spot jump_common[JUMP_COMMON];
extern unsigned long jump_common_at;

/* What must not happen, and what must. */
struct jump_counts {
	atomic_long_t wrong;		/* outcomes of a function */
	atomic_long_t late;		/* handlers after all was over */
	atomic_long_t refused;		/* registrations, or not */
	atomic_long_t miscounted;	/* hits of a probe by its owner */
	atomic_long_t astray;		/* interrupts within an instruction */
	atomic_long_t unwound_wrongly;
	atomic_long_t unwound;		/* from there, rightly */
	atomic_long_t rounds;		/* of those who register */
	atomic_long_t ticks;
};

extern struct jump_counts jump_counts;

/* jumps.c */
bool jump_is_there(struct jump_target *target);
bool jump_are_there(int first);	/* the first so many */
void jump_call(struct jump_target *target, unsigned long who, bool carry);
void jump_count_hit(struct jump_target *target, struct pt_regs *regs);

/* How many of the functions are called. */
extern int jump_choice;

static inline struct jump_target *jump_random(u32 random)
{
	return &jump_targets[random % jump_choice];
}

/* At which of them probes are to be: where none was a jump yet, in the end. */
int jump_wanted(u32 random);
/* jump_is_short: the planned time is over, and a place has not seen enough. */
extern bool jump_is_short;

/* jump_churn.c */
#define JUMP_CHURNERS	5
int jump_churner(void *number);
/* While it is set a hit is where it must be. */
extern bool jump_strict;

/* jump_steps.c */
int jump_learn(void);
/* How long a jump takes to come: a fraction of a second, or many seconds. */
extern unsigned int jump_ms;

/* So much of that. */
static inline void jump_sleep(unsigned int percent)
{
	storm_sleep(READ_ONCE(jump_ms) * percent / 100);
}

/* jump_unwind.c */
void jump_learn_end(void);
void jump_look(struct pt_regs *regs, bool put_aside);
void jump_look_from_handler(struct pt_regs *regs);

/* jump_targets.S */
asmlinkage long jump_sleeper(void *sleeper);
extern const u8 jump_text_begin[], jump_text_end[], jump_row[];

#endif
#endif
