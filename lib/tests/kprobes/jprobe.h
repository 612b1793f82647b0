/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of jprobes' cases share.
 */
#ifndef _KPROBES_CLAUSES_JPROBE_H
#define _KPROBES_CLAUSES_JPROBE_H

#include "step.h"

/*
 * What is on the stack; with the six before, all that a handler sees. On s390 the
 * sixth is on the stack as well, and a structure would be elsewhere.
 */
#ifdef CONFIG_S390
struct pile {
	long of[7];
};

#define PILE		long g, long h, long i, long j, long k, long l, long m
#define PILE_IS		(&(struct pile) { { g, h, i, j, k, l, m } })
#define CALL_WITH(call, pile)						\
	call(101, 102, 103, 104, 105, 106, (pile).of[0], (pile).of[1],	\
	     (pile).of[2], (pile).of[3], (pile).of[4], (pile).of[5],	\
	     (pile).of[6])
#define SPOIL_PILE()	do { } while (0)
#else
struct pile {
	long of[8];
};

#define PILE		struct pile pile
#define PILE_IS		(&pile)
#define CALL_WITH(call, pile)	call(101, 102, 103, 104, 105, 106, pile)
#define SPOIL_PILE()							\
do {									\
	memset(&pile, 0xff, sizeof(pile));				\
	barrier_data(&pile);						\
} while (0)
#endif

/* Of what is probed, and of handlers. */
#define ARGUMENTS							\
	long a, long b, long c, long d, long e, long f, PILE

typedef long (*sum_fn)(ARGUMENTS);

/* All sum their arguments, so that no two can change places. */
asmlinkage long clauses_jprobe_boosted(ARGUMENTS);
asmlinkage long clauses_jprobe_emulated(ARGUMENTS);
asmlinkage long clauses_jprobe_stepped(ARGUMENTS);
long clauses_jprobe_traced(ARGUMENTS);

/* Handlers that leave nothing as it was, and how often they ran. */
asmlinkage void clauses_jprobe_spoil(void);
asmlinkage void clauses_jprobe_spoil_old(void);
extern int clauses_jprobe_spoiled;

/* A function of each kind, by how its first instruction is carried out. */
struct kind {
	const char *symbol;
	sum_fn call;
};

#define KINDS	4
extern const struct kind clauses_kinds[KINDS];

#define FOR_EACH_KIND(of)						\
	for (const struct kind *of = clauses_kinds;			\
	     of < clauses_kinds + KINDS; of++)

/* Calls one with arguments of which it knows the sum, and says what came. */
long clauses_sum(const struct kind *kind);
#define CLAUSES_SUM	clauses_sum_expected()
long clauses_sum_expected(void);

/* Behind the handler may stand members of the struct kprobe. */
#define JPROBE_AT(symbol, handler, ...)					\
	((struct jprobe) {						\
		.kp = { .symbol_name = symbol, __VA_ARGS__ },		\
		.entry = handler,					\
	})

/* A jprobe that is there until the end of its scope. */
#define JPROBE(name, ...)						\
	struct jprobe name __cleanup(unregister_jprobe) =		\
		JPROBE_AT(__VA_ARGS__);					\
	IS_REGISTERED(name, register_jprobe(&name))

/* What a client does before it registers the jprobe again. */
static inline void jprobe_anew(struct jprobe *jp)
{
	jp->kp.addr = NULL;
	jp->kp.flags = 0;
}

#endif
