/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KUnit cases for the behaviour that clients of <linux/kprobes.h> rely on,
 * over whichever implementation is built in. A case is named by its clause,
 * then by what it shows.
 */
#ifndef _KPROBES_CLAUSES_H
#define _KPROBES_CLAUSES_H

#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>

/* Bit 0 of a pointer to Thumb code is set. */
#define POINTER_BIT	IS_ENABLED(CONFIG_THUMB2_KERNEL)

/* What is probed: ftrace can call from its entry, where there is ftrace. */
int kprobes_clauses_target(int value);
int kprobes_clauses_other(int value);

/* It cannot call from this one's. */
int kprobes_clauses_untraced(int value);

/* Calls that the compiler does not see through. */
extern int (*clauses_call)(int value);
extern int (*clauses_call_other)(int value);
extern int (*clauses_call_untraced)(int value);

/* A probe that counts its calls, and notes when it was called. */
struct counted {
	struct kprobe kp;
	int before;
	int after;
	unsigned int turn_before;	/* counts the calls of all handlers */
	unsigned int turn_after;
	unsigned long ip_before;
	unsigned long ip_after;
	unsigned long flags_after;
	bool registered;		/* by PROBE_AT() or PROBE_IN() */
};

int clauses_before(struct kprobe *kp, struct pt_regs *regs);
void clauses_after(struct kprobe *kp, struct pt_regs *regs,
		   unsigned long flags);

#define TARGET	"kprobes_clauses_target"
#define OTHER	"kprobes_clauses_other"

/* Behind the place may stand members of the struct kprobe. */
#define COUNTED_AT(symbol, ...)					\
	((struct counted) { .kp = {				\
		.symbol_name = symbol,				\
		.pre_handler = clauses_before, __VA_ARGS__	\
	} })

#define COUNTED_IN(address, ...)				\
	((struct counted) { .kp = {				\
		.addr = (kprobe_opcode_t *)(address),		\
		.pre_handler = clauses_before, __VA_ARGS__	\
	} })

#define AFTER		.post_handler = clauses_after
#define AFTER_IF(is)	.post_handler = (is) ? clauses_after : NULL

static inline void take_out(struct counted *probe)
{
	if (probe->registered)
		unregister_kprobe(&probe->kp);
	probe->registered = false;
}

/* A probe that is there until take_out(), or the end of its scope. */
#define PROBE_AT(name, ...)	PROBE(name, COUNTED_AT(__VA_ARGS__))
#define PROBE_IN(name, ...)	PROBE(name, COUNTED_IN(__VA_ARGS__))
#define PROBE(name, ...)					\
	struct counted name __cleanup(take_out) = __VA_ARGS__;	\
	IS_REGISTERED(name, register_kprobe(&name.kp));		\
	name.registered = true

/* Else the case, or the function that is a part of it, is over. */
#define IS_REGISTERED(name, ...)				\
	int name##_error = __VA_ARGS__;				\
								\
	KUNIT_EXPECT_EQ(test, name##_error, 0);			\
	if (name##_error)					\
		return

/* One that must not be registered, as by PROBE_AT() and PROBE_IN(). */
#define REFUSED_AT(err, ...)					\
	KUNIT_EXPECT_EQ(test, clauses_try(COUNTED_AT(__VA_ARGS__)), err)
#define REFUSED_IN(err, ...)					\
	KUNIT_EXPECT_EQ(test, clauses_try(COUNTED_IN(__VA_ARGS__)), err)

/* The error of registering it; it is taken out again if there is none. */
int clauses_try(struct counted probe);

#define EXPECT_HITS(probe, times_before, times_after)		\
do {								\
	KUNIT_EXPECT_EQ(test, (probe).before, times_before);	\
	KUNIT_EXPECT_EQ(test, (probe).after, times_after);	\
} while (0)

/* Shown in kprobes/counters, and told to tests. */
size_t rust_kprobes_step_faults(void);

/* What a client does before it registers the probe again. */
static inline void anew(struct counted *probe)
{
	probe->kp.addr = NULL;
	probe->kp.flags = 0;
	probe->before = 0;
	probe->after = 0;
}

/* Behind the cases may stand members of the struct kunit_suite. */
#define CLAUSES_SUITE(suite, cases, ...)				\
static struct kunit_suite suite = {					\
	.name = #suite, .test_cases = cases, __VA_ARGS__		\
};									\
kunit_test_suite(suite)

/* Waits for it; a wait for all tasks is in there. */
#define COMES_TRUE(condition)						\
({									\
	unsigned long end = jiffies + 10 * HZ;				\
	bool is;							\
									\
	while (!(is = (condition)) && time_before(jiffies, end))	\
		msleep(20);						\
	is;								\
})

/*
 * The address of a symbol that no module is told of; NULL where calls through
 * pointers are checked, and none can be asked.
 */
void *clauses_symbol(const char *name);

#endif
