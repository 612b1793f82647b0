/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the cases of return probes have in common, see returns_target.c and
 * returns_crowd.c.
 */
#ifndef _KPROBES_RETURNS_H
#define _KPROBES_RETURNS_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/sched.h>
#include "clauses.h"

/* What is probed: each calls what it is told to, and adds one. */
typedef long (*returns_what)(void *data);

long kprobes_returns_inner(returns_what what, void *data);
/* It calls the inner one. */
long kprobes_returns_outer(returns_what what, void *data);
/* Ftrace cannot call from this one's entry. */
long kprobes_returns_untraced(returns_what what, void *data);
/* So many calls, each within the one before; it says how many. */
long kprobes_returns_deep(long depth);

#define INNER		"kprobes_returns_inner"
#define OUTER		"kprobes_returns_outer"
#define UNTRACED	"kprobes_returns_untraced"
#define DEEP		"kprobes_returns_deep"

/* The address of the first of them that its calls come to. */
kprobe_opcode_t *returns_entry(void);

long returns_nothing(void *unused);

/* Always in whoever calls it: where it returns to is looked at. */
static __always_inline long call_inner(void)
{
	return kprobes_returns_inner(returns_nothing, NULL);
}

/* As many calls as there can be room for, and what there is room for. */
#define MAX_CALLS	BIT(24)

static inline int usual_calls(void)
{
	return max(10, 2 * (int)num_possible_cpus());
}

/* A return probe that counts, and notes what it was told last. */
struct watched {
	struct kretprobe rp;
	atomic_t entered;
	atomic_t returned;
	atomic_t wrong;		/* what must not be, in either handler */
	unsigned int turn_entered;	/* counts the calls of all handlers */
	unsigned int turn_returned;
	struct kretprobe_instance *call;
	unsigned long on_stack;	/* where it was to return to, on entry */
	unsigned long ip;
	unsigned long to;
	unsigned long value;
	struct task_struct *task;
	bool gone;		/* nothing is to be told any more */
	bool registered;	/* by WATCH() */
};

int watched_entered(struct kretprobe_instance *call, struct pt_regs *regs);
int watched_returned(struct kretprobe_instance *call, struct pt_regs *regs);

static inline struct watched *watched_by(struct kretprobe_instance *call)
{
	return container_of(get_kretprobe(call), struct watched, rp);
}

/* Behind the symbol may stand members of the struct kretprobe. */
#define WATCHED(symbol, ...)					\
	((struct watched) { .rp = {				\
		.kp.symbol_name = symbol,			\
		.handler = watched_returned,			\
		.entry_handler = watched_entered, __VA_ARGS__	\
	} })

static inline void unwatch(struct watched *probe)
{
	if (probe->registered)
		unregister_kretprobe(&probe->rp);
	probe->registered = false;
}

/* A return probe that is there until unwatch(), or the end of its scope. */
#define WATCH(name, ...)						\
	struct watched name __cleanup(unwatch) = WATCHED(__VA_ARGS__);	\
	IS_REGISTERED(name, register_kretprobe(&name.rp));		\
	name.registered = true

void watched_anew(struct watched *probe);

/* The errno of what is to be refused; if it is not, that is undone. */
int refused_by(struct watched *probe);

#define REFUSED(err, ...)						\
	KUNIT_EXPECT_EQ(test, refused_by(&WATCHED(__VA_ARGS__)), err)

/* So many calls of it have begun, and so many are over. */
void expect_told(struct kunit *test, const struct watched *probe, int entered,
		 int returned, int line);

#define EXPECT_TOLD(test, probe, entered, returned)		\
	expect_told(test, probe, entered, returned, __LINE__)

/* Is the address in that function, which may be another module's? */
bool returns_is_in(unsigned long at, const char *function);

/* The register that has one of the first two arguments of a function. */
static inline unsigned long *returns_argument(struct pt_regs *regs, int number)
{
#if defined(CONFIG_X86_64)
	return number ? &regs->si : &regs->di;
#elif defined(CONFIG_ARM)
	return &regs->uregs[number];
#elif defined(CONFIG_PPC64)
	return &regs->gpr[3 + number];
#elif defined(CONFIG_S390)
	return &regs->gprs[2 + number];
#endif
}

/*
 * The calls of a task that are watched, a call's place there, what a probe has
 * in store, and by what a call is known.
 */
#ifdef CONFIG_KRETPROBE_ON_RETHOOK
#define CALLS(task)	(&(task)->rethooks)
#define IN_CALLS(call)	(&(call)->node.llist)
#define STORE		rh
#define FRAME		node.frame
#else
#define CALLS(task)	(&(task)->kretprobe_instances)
#define IN_CALLS(call)	(&(call)->llist)
#define STORE		rph
#define FRAME		fp
#endif

static inline bool has_calls(const struct task_struct *task)
{
	return !llist_empty(CALLS(task));
}

/* May what is in store grow, till the case is over? With C it never does. */
int returns_grow(bool may);

int returns_begin(struct kunit *test);
void returns_end(struct kunit *test);
int returns_open(struct kunit_suite *suite);
void returns_close(struct kunit_suite *suite);

#define WITH_STORES			\
	.init = returns_begin,		\
	.exit = returns_end,		\
	.suite_init = returns_open,	\
	.suite_exit = returns_close

/* What is in store: for how many probes, and for how many calls. */
void rust_kprobes_return_counts(size_t counts[2]);

/* Nobody is told with C. */
static inline size_t rust_kprobes_return_pools(void)
{
	size_t counts[2] = {};

	if (IS_ENABLED(CONFIG_RUST_KPROBES))
		rust_kprobes_return_counts(counts);
	return counts[0];
}

static inline size_t rust_kprobes_return_calls(void)
{
	size_t counts[2];

	rust_kprobes_return_counts(counts);
	return counts[1];
}

/* A store goes when nobody may be in it, which takes a moment. */
void expect_stores(struct kunit *test, size_t count, int line);

#define EXPECT_STORES(test, count) expect_stores(test, count, __LINE__)

struct crowd {
	struct sleeper *all;
	int count;
	u32 pauses;		/* one comes after so many; 0: after none */
	bool die;		/* none comes back from there */
	struct completion evening, morning;
	atomic_t asleep;
};

/* Comes when all sleep; false where there is no memory for so many. */
bool crowd_sleeps(struct kunit *test, struct crowd *crowd, int count);

/* All wake up, and are waited for; says how many have come back wrongly. */
int crowd_wakes(struct crowd *crowd);

struct task_struct *crowd_task(const struct crowd *crowd, int number);

/* Who calls the inner function in those tasks. */
#define SLEEPER		"goes_to_sleep"

#endif
