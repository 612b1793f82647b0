// SPDX-License-Identifier: GPL-2.0
/*
 * Whether a stack leads to those who have called. Where the functions return to
 * is learned while no probe is there; how the stack of a thread begins, by the
 * thread itself. From then on both must be found, with nothing in between, by
 * whoever looks: the task itself, handlers, an interrupt, other tasks.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/sched.h>
#include <linux/stacktrace.h>
#include <linux/string.h>
#include "returns.h"

#define MOST	64

struct return_trace {
	unsigned int len;
	unsigned long at[MOST];
};

/* Where those of a walk return to, and the text of each. */
enum { TO_PASS, TO_RECURSE, TO_AGAIN, TO_START, SITES };

static unsigned long sites[SITES];

enum { START, RECURSE, PASS, END, TEXTS };

static struct text {
	const void *at;
	unsigned long size;
} texts[TEXTS] = {
	{ return_start }, { return_recurse }, { return_pass }, { return_end },
};

static bool is_in(int text, unsigned long at)
{
	return at - (unsigned long)texts[text].at < texts[text].size;
}

/* "name+0x0/0x60 [module]" */
int return_size_of(unsigned long at, unsigned long *size)
{
	char name[KSYM_SYMBOL_LEN], *tail;

	sprint_symbol(name, at);
	tail = strrchr(name, '/');
	if (tail && sscanf(tail, "/0x%lx", size) == 1)
		return 0;
	pr_err("no size: %s\n", name);
	return -EIO;
}

/* Where hooked functions return to: no stack may be said to lead there. */
static unsigned long trampoline;

static noinline __noclone notrace unsigned long who_has_called(void)
{
	/* Each call is to be made when it is said. */
	barrier();
	return (unsigned long)__builtin_return_address(0);
}

/* In Thumb code an address to return to has bit 0, but not as handlers are shown it. */
static unsigned int even(unsigned long *at, unsigned int len)
{
	for (unsigned int n = 0; IS_ENABLED(CONFIG_THUMB2_KERNEL) && n < len; n++)
		at[n] &= ~1UL;
	return len;
}

static int learn_trampoline(void)
{
	struct kretprobe rp = {
		.kp.addr = (kprobe_opcode_t *)who_has_called,
	};
	char name[KSYM_SYMBOL_LEN];
	int err;

	/* Later somebody may turn all probes off just then. */
	if (trampoline)
		return 0;
	err = register_kretprobe(&rp);
	if (err)
		return err;
	trampoline = who_has_called();
	even(&trampoline, 1);
	unregister_kretprobe(&rp);
	sprint_symbol_no_offset(name, trampoline);
	if (!strcmp(name, "arch_rethook_trampoline"))
		return 0;
	pr_err("hooked functions return to %s\n", name);
	trampoline = 0;
	return -EIO;
}

static void walk_by(struct return_trace *trace, unsigned int depth)
{
	struct walk walk = {
		.end = WALK_UNWIND, .depth = depth, .learn = trace,
	};

	return_start(&walk, 0);
}

/* Where in a trace END is, from which on it is learned. */
static unsigned int end_in(const struct return_trace *trace)
{
	unsigned int n;

	for (n = 0; n < trace->len; n++)
		if (is_in(END, trace->at[n]))
			break;
	return n + 6 < trace->len ? n : 0;
}

int return_learn(void)
{
	static struct return_trace once, twice;
	const unsigned long *at;
	int n, err = learn_trampoline();

	for (n = 0; n < TEXTS; n++)
		err = return_size_of((unsigned long)texts[n].at,
				     &texts[n].size) ?: err;
	walk_by(&once, 0);
	walk_by(&twice, 1);
	if (err || !end_in(&once) || !end_in(&twice))
		return -EIO;
	at = &twice.at[end_in(&twice)];
	for (n = 0; n < SITES; n++)
		sites[n] = at[n + 1];
	at = &once.at[end_in(&once)];
	if (is_in(PASS, sites[TO_PASS]) && is_in(RECURSE, sites[TO_RECURSE]) &&
	    is_in(RECURSE, sites[TO_AGAIN]) && is_in(START, sites[TO_START]) &&
	    at[1] == sites[TO_PASS] && at[2] == sites[TO_RECURSE] &&
	    at[3] == sites[TO_START])
		return 0;
	pr_err("a stack that I cannot follow: %pS %pS %pS %pS\n",
	       (void *)sites[0], (void *)sites[1], (void *)sites[2],
	       (void *)sites[3]);
	return -EIO;
}

unsigned long return_trampoline(void)
{
	return trampoline;
}

noinline void return_learn_tail(struct return_tail *tail)
{
	unsigned long at[RETURN_TAIL];

	tail->len = even(at, stack_trace_save(at, RETURN_TAIL, 1));
	memcpy(tail->at, at, sizeof(at));
}

/* What follows on the stack from where this function returns to. */
static unsigned int expect(unsigned long *to, const struct walk *walk,
			   enum return_number from, long left)
{
	unsigned int again = walk->depth, n = 0;

	if (from == RETURN_RECURSE)
		again -= left;
	if (from == RETURN_END)
		to[n++] = sites[TO_PASS];
	if (from != RETURN_RECURSE)
		to[n++] = sites[TO_RECURSE];
	while (again--)
		to[n++] = sites[TO_AGAIN];
	to[n++] = sites[TO_START];
	return n;
}

static bool is_site(unsigned long at)
{
	int n;

	for (n = 0; n < SITES; n++)
		if (at == sites[n])
			return true;
	return at == trampoline;
}

/* The thread's own part: all is the same but for where it calls. */
static bool has_tail(const unsigned long *at, unsigned int len,
		     const struct return_tail *tail)
{
	return len == tail->len && at[0] - tail->at[0] + 2048 < 4096 &&
	       !memcmp(at + 1, tail->at + 1, (len - 1) * sizeof(*at));
}

static bool is_right(const struct return_trace *trace, const struct walk *walk,
		     enum return_number from, long left)
{
	unsigned long sure[WALK_MOST + 4];
	unsigned int count = expect(sure, walk, from, left);
	unsigned int n, first;

	if (trace->len <= count + walk->tail->len)
		return false;
	first = trace->len - walk->tail->len - count;
	for (n = 0; n < first; n++)
		if (is_site(trace->at[n]))
			return false;
	return !memcmp(trace->at + first, sure, count * sizeof(*sure)) &&
	       has_tail(trace->at + first + count, walk->tail->len, walk->tail);
}

/*
 * While the switch is turned the trampoline that ftrace has made for the probes
 * goes, and somebody is in it, whom nobody can unwind then.
 */
static bool is_cut(const struct return_trace *trace, const struct walk *walk)
{
	const struct return_tail *tail = walk->tail;
	unsigned int count = tail->len - 1;

	return !READ_ONCE(return_strict) &&
	       (trace->len < count || memcmp(trace->at + trace->len - count,
					     tail->at + 1,
					     count * sizeof(*tail->at)));
}

static void tell(const char *who, const struct return_trace *trace,
		 const struct walk *walk)
{
	static atomic_t times;

	if (atomic_inc_return(&times) > 10)
		return;
	pr_err("unwound wrongly %s, depth %u, level %u, %u below:\n", who,
	       walk->depth, walk->level, walk->tail->len);
	stack_trace_print(trace->at, trace->len, 4);
}

static void judge(bool right, const char *who, atomic_long_t *rightly,
		  const struct return_trace *trace, const struct walk *walk)
{
	if (right || is_cut(trace, walk)) {
		atomic_long_inc(right ? rightly : &return_counts.cut);
		return;
	}
	atomic_long_inc(&return_counts.unwound_wrongly);
	tell(who, trace, walk);
}

noinline void return_look_at_self(struct walk *walk)
{
	struct return_trace trace;

	trace.len = even(trace.at, stack_trace_save(trace.at, MOST, 0));
	if (walk->learn)
		*walk->learn = trace;
	if (walk->tail)
		judge(is_right(&trace, walk, RETURN_END, 0) &&
		      is_in(END, trace.at[trace.len - walk->tail->len -
					  walk->depth - 4]),
		      "by itself", &return_counts.by_itself, &trace, walk);
}

/*
 * A function without a frame hides who has called it: so it is, with frame
 * pointers, where functions begin.
 */
static bool is_hidden(bool at_entry)
{
	return at_entry && !IS_ENABLED(CONFIG_UNWINDER_ORC) &&
	       !IS_ENABLED(CONFIG_ARM_UNWIND);
}

void return_look_from_handler(const struct return_call *call,
			      enum return_number number, bool at_entry)
{
	struct return_trace trace;
	const struct walk *walk = call->walk;

	if (number < RETURN_RECURSE || !walk->tail || is_hidden(at_entry) ||
	    !READ_ONCE(walk->under_way))
		return;
	trace.len = even(trace.at, stack_trace_save(trace.at, MOST, 0));
	judge(is_right(&trace, walk, number, call->left),
	      at_entry ? "from an entry handler" : "from a handler",
	      at_entry ? &return_counts.by_entries : &return_counts.by_returns,
	      &trace, walk);
}

/* Of a task that sleeps: it must not have run between two looks at this. */
static unsigned long switches_if_asleep(struct task_struct *task)
{
	/* It is counted before it has left the CPU: see finish_task(). */
	if (smp_load_acquire(&task->on_cpu) || READ_ONCE(task->on_rq) ||
	    task_is_running(task))
		return 0;
	return READ_ONCE(task->nvcsw) + READ_ONCE(task->nivcsw);
}

/* The stack of another task, which sleeps in a walk. */
void return_look_at(struct task_struct *task, struct walk *walk)
{
	unsigned int naps = READ_ONCE(walk->naps);
	unsigned long switches = switches_if_asleep(task);
	struct return_trace trace;

	if (!ARCH_UNWINDS_OTHERS || naps % 2 == 0 || !switches)
		return;
	trace.len = even(trace.at, stack_trace_save_tsk(task, trace.at, MOST, 0));
	/* All that was read, before what is looked at again. */
	smp_rmb();
	if (switches != switches_if_asleep(task) ||
	    READ_ONCE(walk->naps) != naps)
		atomic_long_inc(&return_counts.moved);
	else
		judge(is_right(&trace, walk, RETURN_END, 0),
		      "from another task", &return_counts.by_others, &trace,
		      walk);
}

/* Backwards from what a walk begins with: how many of its sites there are. */
struct found {
	unsigned int first;	/* of what is known */
	unsigned int again;
	int last;		/* the site at first, or -1 */
};

static bool comes(const struct return_trace *trace, struct found *found,
		  int site)
{
	if (!found->first || trace->at[found->first - 1] != sites[site])
		return false;
	found->first--;
	found->last = site;
	return true;
}

static struct found find(const struct return_trace *trace,
			 const struct walk *walk)
{
	struct found found = {
		.first = trace->len - walk->tail->len, .last = -1,
	};

	if (!comes(trace, &found, TO_START))
		return found;
	while (found.again < walk->depth && comes(trace, &found, TO_AGAIN))
		found.again++;
	if (found.again == walk->depth && comes(trace, &found, TO_RECURSE))
		comes(trace, &found, TO_PASS);
	return found;
}

/* Who has called these is next, or the trampoline is in between, or a trap. */
static bool is_called_from(unsigned long at, const struct found *found)
{
	switch (found->last) {
	case TO_PASS:
		return !is_in(PASS, at) && !is_in(RECURSE, at) &&
		       !is_in(START, at);
	case TO_RECURSE:
		return !is_in(END, at) && !is_in(RECURSE, at) &&
		       !is_in(START, at);
	case TO_AGAIN:
	case TO_START:
		return !is_in(END, at) && !is_in(PASS, at) &&
		       !is_in(START, at);
	}
	return !is_in(END, at) && !is_in(PASS, at) && !is_in(RECURSE, at);
}

/*
 * Others may come to where a call returns to, from other places of the function,
 * and be interrupted there: then nothing of ours is called from it.
 */
static bool is_interrupted(const struct return_trace *trace,
			   const struct found *found, unsigned int n)
{
	int text;

	if (n + 1 != found->first || trace->at[n] == trampoline)
		return false;
	for (text = 0; text < TEXTS && n; text++)
		if (is_in(text, trace->at[n - 1]))
			return false;
	return true;
}

static bool is_right_from_tick(const struct return_trace *trace,
			       const struct walk *walk)
{
	unsigned int level = READ_ONCE(walk->level), n;
	struct found found;

	if (trace->len <= walk->tail->len)
		return false;
	found = find(trace, walk);
	for (n = 0; n < found.first; n++)
		if (is_site(trace->at[n]) && !is_interrupted(trace, &found, n))
			return false;
	/* What was interrupted first in a function has not said so yet. */
	if ((found.last == TO_AGAIN || found.last == TO_START) &&
	    found.again + 1 != level && found.again != level &&
	    found.again != level + 1)
		return false;
	return found.first &&
	       is_called_from(trace->at[found.first - 1], &found) &&
	       has_tail(trace->at + trace->len - walk->tail->len,
			walk->tail->len, walk->tail);
}

/* The task that is interrupted is in a walk. */
void return_look_from_tick(struct walk *walk)
{
	struct return_trace trace;

	/* Where functions begin and end frame pointers leave somebody out. */
	if (!IS_ENABLED(CONFIG_UNWINDER_ORC))
		return;
	trace.len = even(trace.at, stack_trace_save(trace.at, MOST, 0));
	judge(is_right_from_tick(&trace, walk), "from an interrupt",
	      &return_counts.by_ticks, &trace, walk);
}
