// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks with calls on them whose return is hooked: who unwinds them finds what
 * is found without return probes.
 */
#include <linux/irq_work.h>
#include <linux/kdebug.h>
#include <linux/kthread.h>
#include <linux/ptrace.h>
#include <linux/stacktrace.h>
#include <asm/unwind.h>
#include "returns.h"

#define DEPTH	64

struct trace {
	unsigned long at[DEPTH];
	unsigned int count;
};

static struct watched outer, inner[2];
static struct kretprobe *all[] = { &outer.rp, &inner[0].rp, &inner[1].rp };

/* The outer function has one, the inner one two. */
static int hook_all(void)
{
	outer = WATCHED(OUTER);
	inner[0] = WATCHED(INNER);
	inner[1] = WATCHED(INNER);
	return register_kretprobes(all, ARRAY_SIZE(all));
}

static void unhook_all(void)
{
	unregister_kretprobes(all, ARRAY_SIZE(all));
}

static void expect_same(struct kunit *test, const struct trace *hooked,
			const struct trace *bare)
{
	KUNIT_EXPECT_GT(test, bare->count, 4);
	KUNIT_EXPECT_EQ(test, hooked->count, bare->count);
	KUNIT_EXPECT_MEMEQ(test, hooked->at, bare->at,
			   bare->count * sizeof(*bare->at));
}

/* Which of the addresses is the first in that function; -1 if none is. */
static int find(const struct trace *trace, const char *function)
{
	int n;

	for (n = 0; n < trace->count; n++)
		if (returns_is_in(trace->at[n], function))
			return n;
	return -1;
}

/* Else the compiler would make two places of one. */
static int rounds = 2;

/* Once without return probes, and once with them, from one place. */
static void both(struct kunit *test, returns_what what,
		 long (*function)(returns_what what, void *data))
{
	struct trace traces[2] = {};
	int n;

	for (n = 0; n < READ_ONCE(rounds); n++) {
		if (n)
			KUNIT_ASSERT_EQ(test, hook_all(), 0);
		function(what, &traces[n]);
	}
	unhook_all();
	expect_same(test, &traces[1], &traces[0]);
	EXPECT_TOLD(test, &inner[0], 1, 1);
}

static long note_trace(void *data)
{
	struct trace *trace = data;

	trace->count = stack_trace_save(trace->at, DEPTH, 0);
	return 0;
}

static void K8_in_a_call(struct kunit *test)
{
	both(test, note_trace, kprobes_returns_inner);
}

static void K8_in_a_call_within_another(struct kunit *test)
{
	both(test, note_trace, kprobes_returns_outer);
	EXPECT_TOLD(test, &outer, 1, 1);
}

static struct trace in_handler, of_registers;

static int trace_here(struct kretprobe_instance *call, struct pt_regs *regs)
{
	struct unwind_state state;

	note_trace(&in_handler);
	of_registers.at[0] = regs->ip;
	of_registers.count = 1;
	for (unwind_start(&state, current, regs, NULL);
	     !unwind_done(&state) && of_registers.count < DEPTH;
	     unwind_next_frame(&state))
		of_registers.at[of_registers.count++] =
			unwind_get_return_address(&state);
	return watched_returned(call, regs);
}

/* The function's caller is there, and the callers of that one behind it. */
static void K8_in_a_handler(struct kunit *test)
{
	struct trace bare = {};
	int n, from, caller;

	for (n = 0; n < 2; n++) {
		kprobes_returns_outer(note_trace, &bare);
		KUNIT_ASSERT_EQ(test, hook_all(), 0);
		inner[n].rp.handler = trace_here;
		kprobes_returns_outer(returns_nothing, NULL);
		unhook_all();
		EXPECT_TOLD(test, &inner[n], 1, 1);
		from = find(&bare, OUTER);
		caller = find(&in_handler, OUTER);
		KUNIT_ASSERT_GE(test, from, 0);
		KUNIT_ASSERT_GE(test, caller, 0);
		KUNIT_EXPECT_EQ(test, in_handler.at[caller], bare.at[from]);
		KUNIT_EXPECT_EQ(test, in_handler.count - caller,
				bare.count - from);
		/* All but that in this function are the same calls. */
		KUNIT_EXPECT_MEMEQ(test, &in_handler.at[caller + 2],
				   &bare.at[from + 2],
				   (bare.count - from - 2) * sizeof(long));
		KUNIT_EXPECT_TRUE(test,
				  returns_is_in(in_handler.at[caller + 1],
						__func__));
		/* The same by the registers alone. */
		KUNIT_EXPECT_EQ(test, of_registers.at[0], inner[n].ip);
		KUNIT_EXPECT_MEMEQ(test, of_registers.at,
				   &in_handler.at[caller],
				   (in_handler.count - caller) * sizeof(long));
	}
}

static struct trace of_interrupt;

static void interrupt(struct irq_work *work)
{
	note_trace(&of_interrupt);
}

static long be_interrupted(void *unused)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(interrupt);

	irq_work_queue(&work);
	irq_work_sync(&work);
	return 0;
}

static void K8_from_an_interrupt(struct kunit *test)
{
	int at;

	KUNIT_ASSERT_EQ(test, hook_all(), 0);
	kprobes_returns_outer(be_interrupted, NULL);
	unhook_all();
	EXPECT_TOLD(test, &inner[0], 1, 1);
	at = find(&of_interrupt, INNER);
	KUNIT_ASSERT_GT(test, at, 0);
	KUNIT_ASSERT_LT(test, at + 2, of_interrupt.count);
	KUNIT_EXPECT_TRUE(test, returns_is_in(of_interrupt.at[at + 1], OUTER));
	KUNIT_EXPECT_TRUE(test, returns_is_in(of_interrupt.at[at + 2],
					      __func__));
}

static unsigned long trampoline;
static struct task_struct *stepping;
static struct trace at_trampoline;
static int steps;

/*
 * Each instruction on the way there, and the first one there. A tracer that is
 * stepped through tries again where it is traced meanwhile.
 */
static notrace int stepped(struct notifier_block *block, unsigned long event,
			   void *data)
{
	struct die_args *args = data;

	if (event != DIE_DEBUG || current != stepping)
		return NOTIFY_DONE;
	if (args->regs->ip == trampoline)
		note_trace(&at_trampoline);
	/* So many would be too many. */
	if (args->regs->ip == trampoline || ++steps > 100000)
		args->regs->flags &= ~X86_EFLAGS_TF;
	return NOTIFY_STOP;
}

static __always_inline void set_flags(unsigned long flags)
{
	asm volatile("push %0\n\tpopfq" : : "g" (flags) : "memory", "cc");
}

static long begin_steps(void *unused)
{
	set_flags(native_save_fl() | X86_EFLAGS_TF);
	return 0;
}

/*
 * The function has taken its return address off the stack, and the trampoline
 * has not put it back.
 */
static void K8_at_the_trampolines_first_instruction(struct kunit *test)
{
	struct notifier_block block = { .notifier_call = stepped, .priority = INT_MAX };
	struct trace bare = {};
	int n, from, caller;

	trampoline = (unsigned long)clauses_symbol("arch_rethook_trampoline");
	if (!trampoline)
		kunit_skip(test, "calls through pointers are checked");
	kprobes_returns_inner(note_trace, &bare);
	WATCH(probe, INNER);
	KUNIT_EXPECT_EQ(test, register_die_notifier(&block), 0);
	at_trampoline.count = 0;
	steps = 0;
	local_irq_disable();
	stepping = current;
	kprobes_returns_inner(begin_steps, NULL);
	/* If they did not end there. */
	set_flags(native_save_fl() & ~X86_EFLAGS_TF);
	stepping = NULL;
	local_irq_enable();
	unwatch(&probe);
	unregister_die_notifier(&block);
	EXPECT_TOLD(test, &probe, 1, 1);
	KUNIT_EXPECT_GT(test, steps, 0);
	KUNIT_ASSERT_GT_MSG(test, at_trampoline.count, 0, "%d steps", steps);
	for (n = 0; n < at_trampoline.count; n++)
		KUNIT_EXPECT_NE(test, at_trampoline.at[n], trampoline);
	from = find(&bare, __func__);
	caller = find(&at_trampoline, __func__);
	KUNIT_ASSERT_GT(test, from, 0);
	KUNIT_ASSERT_GT(test, caller, 0);
	KUNIT_EXPECT_EQ(test, at_trampoline.at[caller], probe.ip);
	KUNIT_EXPECT_EQ(test, at_trampoline.count - caller, bare.count - from);
	KUNIT_EXPECT_MEMEQ(test, &at_trampoline.at[caller + 1],
			   &bare.at[from + 1],
			   (bare.count - from - 1) * sizeof(long));
}

/* A task that sleeps is off its CPU a moment after it has said so. */
static bool is_asleep(struct task_struct *task, struct trace *trace)
{
	struct trace before = *trace;

	trace->count = task_is_running(task) ? 0 :
		       stack_trace_save_tsk(task, trace->at, DEPTH, 0);
	return trace->count && !memcmp(trace, &before, sizeof(before));
}

static void trace_sleeper(struct kunit *test, struct trace *trace)
{
	struct crowd crowd = {};

	crowd_sleeps(test, &crowd, 1);
	KUNIT_EXPECT_TRUE(test,
			  COMES_TRUE(is_asleep(crowd_task(&crowd, 0), trace)));
	KUNIT_EXPECT_EQ(test, crowd_wakes(&crowd), 0);
}

static void K8_of_a_task_that_sleeps(struct kunit *test)
{
	struct trace bare = {}, hooked = {};

	trace_sleeper(test, &bare);
	KUNIT_ASSERT_EQ(test, hook_all(), 0);
	trace_sleeper(test, &hooked);
	unhook_all();
	EXPECT_TOLD(test, &inner[0], 1, 1);
	expect_same(test, &hooked, &bare);
}

/* Live patching asks so. */
static void K8_reliably(struct kunit *test)
{
	int (*save)(struct task_struct *task, unsigned long *store,
		    unsigned int size);
	struct trace trace = {}, reliable = {};
	struct crowd crowd = {};
	int count = 0;

	save = clauses_symbol("stack_trace_save_tsk_reliable");
	if (!save)
		kunit_skip(test, "it is not there, or may not be called");
	KUNIT_ASSERT_EQ(test, hook_all(), 0);
	crowd_sleeps(test, &crowd, 1);
	if (COMES_TRUE(is_asleep(crowd_task(&crowd, 0), &trace)))
		count = save(crowd_task(&crowd, 0), reliable.at, DEPTH);
	KUNIT_EXPECT_EQ(test, crowd_wakes(&crowd), 0);
	unhook_all();
	KUNIT_ASSERT_GT(test, count, 4);
	reliable.count = count;
	KUNIT_EXPECT_GT(test, find(&reliable, INNER), 0);
	KUNIT_EXPECT_EQ(test, find(&reliable, SLEEPER),
			find(&reliable, INNER) + 1);
	/* The scheduler's own functions are left out of the other one. */
	KUNIT_EXPECT_EQ(test, find(&trace, SLEEPER), find(&trace, INNER) + 1);
}

typedef unsigned long (*find_function)(struct task_struct *task,
				       unsigned long frame,
				       struct llist_node **last);

static void K8_where_a_call_returns_to(struct kunit *test)
{
	find_function ask = clauses_symbol("rethook_find_ret_addr");
	struct llist_node *last = NULL;
	struct crowd crowd = {};
	struct trace trace = {};
	unsigned long frame;

	if (!ask)
		kunit_skip(test, "calls through pointers are checked");
	WATCH(probe, INNER);
	crowd_sleeps(test, &crowd, 1);
	if (probe.call &&
	    COMES_TRUE(is_asleep(crowd_task(&crowd, 0), &trace))) {
		struct task_struct *task = crowd_task(&crowd, 0);

		frame = probe.call->node.frame;
		KUNIT_EXPECT_EQ(test, ask(task, frame, &last),
				probe.on_stack);
		KUNIT_EXPECT_PTR_EQ(test, last, &probe.call->node.llist);
		/* There is no further one. */
		KUNIT_EXPECT_EQ(test, ask(task, frame, &last), 0);
		last = NULL;
		KUNIT_EXPECT_EQ(test, ask(task, frame + 8, &last), 0);
	}
	KUNIT_EXPECT_EQ(test, crowd_wakes(&crowd), 0);
	unwatch(&probe);
	EXPECT_TOLD(test, &probe, 1, 1);
	KUNIT_EXPECT_TRUE(test, returns_is_in(probe.on_stack, SLEEPER));
	last = NULL;
	KUNIT_EXPECT_EQ(test, ask(current, 16, &last), 0);
}

static bool is_there, may_go;

static long stay(void *unused)
{
	unsigned long end = jiffies + 30 * HZ;

	WRITE_ONCE(is_there, true);
	while (!READ_ONCE(may_go) && time_before(jiffies, end))
		cpu_relax();
	return 0;
}

static int stays(void *unused)
{
	kprobes_returns_inner(stay, NULL);
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

/* Of a task that runs nothing is told: it may be anywhere by then. */
static void K8_of_a_task_that_runs(struct kunit *test)
{
	find_function ask = clauses_symbol("rethook_find_ret_addr");
	struct watched probe = WATCHED(INNER);
	struct llist_node *last = NULL;
	struct task_struct *task;
	unsigned long frame = 0;

	if (!ask)
		kunit_skip(test, "calls through pointers are checked");
	if (!IS_ENABLED(CONFIG_SMP) || !cpu_online(1))
		kunit_skip(test, "there is no other CPU");
	KUNIT_ASSERT_EQ(test, 0, set_cpus_allowed_ptr(current, cpumask_of(0)));
	task = kthread_create(stays, NULL, "stays");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	kthread_bind(task, 1);
	WRITE_ONCE(is_there, false);
	WRITE_ONCE(may_go, false);
	KUNIT_EXPECT_EQ(test, register_kretprobe(&probe.rp), 0);
	wake_up_process(task);
	KUNIT_EXPECT_TRUE(test, COMES_TRUE(READ_ONCE(is_there)));
	KUNIT_EXPECT_TRUE(test, has_calls(task));
	if (probe.call)
		frame = probe.call->node.frame;
	KUNIT_EXPECT_EQ(test, ask(task, frame, &last), 0);
	KUNIT_EXPECT_NULL(test, last);
	WRITE_ONCE(may_go, true);
	kthread_stop(task);
	unregister_kretprobe(&probe.rp);
	EXPECT_TOLD(test, &probe, 1, 1);
}

static struct kunit_case returns_unwind_cases[] = {
	KUNIT_CASE(K8_in_a_call),
	KUNIT_CASE(K8_in_a_call_within_another),
	KUNIT_CASE(K8_in_a_handler),
	KUNIT_CASE(K8_from_an_interrupt),
	KUNIT_CASE(K8_at_the_trampolines_first_instruction),
	KUNIT_CASE(K8_of_a_task_that_sleeps),
	KUNIT_CASE(K8_reliably),
	KUNIT_CASE(K8_where_a_call_returns_to),
	KUNIT_CASE(K8_of_a_task_that_runs),
	{}
};

CLAUSES_SUITE(clauses_returns_unwind, returns_unwind_cases, WITH_STORES);
