// SPDX-License-Identifier: GPL-2.0
/*
 * The end of hooked calls, by the CPU's single steps: of a function, and of the
 * one that has called it, whose return is hooked, too. From each instruction of
 * the trampoline the stack must lead to the real callers, whether it is looked
 * at on the way, or from the registers that an interrupt has saved. Any number
 * that is written to the parameter "returns_steps" begins it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/irqflags.h>
#include <linux/kdebug.h>
#include <linux/moduleparam.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/stacktrace.h>
#include <linux/string.h>
#include <asm/unwind.h>
#include "returns.h"

#define MOST		64
#define TEXT_MOST	512
/* Calls that are the same each time. */
#define OURS		3

static struct {
	struct task_struct *task;
	unsigned long at, size;		/* of the trampoline */
	bool learns, waits;
	unsigned int returned;		/* functions that are over */
	/* Where they return to; where who calls them does; and so on. */
	unsigned long known[MOST];
	unsigned int len;
	/* By each instruction: seen, with the caller left out. */
	unsigned int seen[TEXT_MOST], hidden[TEXT_MOST];
	unsigned int looks, wrong;
} steps;

static noinline __noclone notrace long inner(long value)
{
	if (steps.learns)
		stack_trace_save(steps.known, OURS, 1);
	else
		arch_step(true);
	return value + 5;
}

static noinline __noclone notrace long outer(long value)
{
	long found = inner(value + 1);

	WRITE_ONCE(steps.returned, 1);
	return found + 1;
}

static noinline __noclone notrace long both(long value)
{
	long found;

	WRITE_ONCE(steps.returned, 0);
	found = outer(value);
	arch_step(false);
	return found;
}

static void tell(const char *how, unsigned long into,
		 const unsigned long *trace, unsigned int len)
{
	if (steps.wrong++ > 4)
		return;
	pr_err("steps: unwound wrongly %s at +0x%lx, after %u:\n", how, into,
	       steps.returned);
	stack_trace_print(trace, len, 4);
}

static bool ends_with(const unsigned long *trace, unsigned int len,
		      const unsigned long *known, unsigned int count)
{
	return len >= count &&
	       !memcmp(trace + len - count, known, count * sizeof(*known));
}

/*
 * All that is known must be there, and nothing of it twice. With frame pointers
 * the first may be left out. Before it there is the place itself, if the trace
 * goes as far: but for the first instruction, which stands for the caller.
 */
static void judge(const char *how, unsigned long into, unsigned long *trace,
		  unsigned int len, bool with_place)
{
	const unsigned long *known = steps.known + steps.returned;
	unsigned int count = steps.len - steps.returned, n;

	steps.looks++;
	if (!ends_with(trace, len, known, count)) {
		if (!ends_with(trace, len, known + 1, count - 1)) {
			tell(how, into, trace, len);
			return;
		}
		steps.hidden[into]++;
		count--;
	}
	for (n = 0; n < len - count; n++)
		if (trace[n] == steps.at || trace[n] == steps.known[0] ||
		    trace[n] == steps.known[1])
			break;
	if (n < len - count || (!with_place && n) ||
	    (with_place && into && (!n || trace[n - 1] != steps.at + into)))
		tell(how, into, trace, len);
}

static void look(struct pt_regs *regs)
{
	static unsigned long trace[MOST];
	struct unwind_state state;
	unsigned int len;

	len = stack_trace_save(trace, MOST, 0);
	judge("on the way", regs->ip - steps.at, trace, len, true);
	len = 0;
	for (unwind_start(&state, current, regs, NULL);
	     !unwind_done(&state) && len < MOST; unwind_next_frame(&state)) {
		unsigned long at = unwind_get_return_address(&state);

		if (!at)
			break;
		trace[len++] = at;
	}
	judge("from registers", regs->ip - steps.at, trace, len, false);
}

static int stepped(struct notifier_block *block, unsigned long event,
		   void *data)
{
	const struct die_args *args = data;
	unsigned long into;

	if (event != DIE_DEBUG || current != steps.task)
		return NOTIFY_DONE;
	into = args->regs->ip - steps.at;
	if (into < steps.size) {
		steps.seen[into]++;
		look(args->regs);
	}
	return NOTIFY_STOP;
}

static struct notifier_block block = {
	.notifier_call = stepped,
	.priority = INT_MAX,
};

static int returned(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (steps.waits)
		set_preempt_need_resched();
	return 0;
}

#define PROBES	4

static struct kretprobe probes[PROBES];

/* None, to learn, or one on each of the functions, or two. */
static noinline int run(unsigned int count)
{
	struct kretprobe *batch[PROBES];
	int n, err = 0;
	long found;

	memset(probes, 0, sizeof(probes));
	for (n = 0; n < count; n++) {
		probes[n].kp.addr = (kprobe_opcode_t *)(n % 2 ? outer : inner);
		probes[n].handler = returned;
		batch[n] = &probes[n];
	}
	if (count)
		err = register_kretprobes(batch, count);
	if (err)
		return err;
	steps.learns = !count;
	steps.len = OURS + stack_trace_save(steps.known + OURS, MOST - OURS, 1);
	local_irq_disable();
	steps.task = current;
	found = both(0);
	steps.task = NULL;
	local_irq_enable();
	if (count)
		unregister_kretprobes(batch, count);
	if (found == 7)
		return 0;
	pr_err("steps: %ld is returned\n", found);
	return -EIO;
}

/* The trampoline is where a hooked function would return to. */
static int learn(void)
{
	steps.at = return_trampoline();
	if (return_size_of(steps.at, &steps.size) || steps.size > TEXT_MOST)
		return -EIO;
	return run(0);
}

/*
 * With frame pointers: where the trampoline has none yet, or no more; and where
 * the function has just returned, if registers are begun with.
 */
#define HIDDEN_MOST	4

static int return_steps(unsigned int unused, bool strict)
{
	unsigned int n, insns = 0, hidden = 0;
	int err;

	memset(&steps, 0, sizeof(steps));
	err = learn();
	if (err)
		return err;
	register_die_notifier(&block);
	for (n = 0; n < 4 && !err; n++) {
		steps.waits = n & 1;
		err = run(n & 2 ? PROBES : 2);
	}
	unregister_die_notifier(&block);
	for (n = 0; n < steps.size; n++) {
		insns += steps.seen[n] != 0;
		hidden += steps.hidden[n] != 0;
		if (steps.hidden[n])
			pr_info("steps: at +0x%x the caller is left out\n", n);
	}
	pr_info("steps: %u looks at %u instructions, %u wrong, %u without the caller\n",
		steps.looks, insns, steps.wrong, hidden);
	if (steps.wrong || !steps.seen[0] || insns < 40 ||
	    hidden > (IS_ENABLED(CONFIG_UNWINDER_ORC) ? 0 : HIDDEN_MOST))
		err = err ?: -EIO;
	return err;
}

static struct storm_kind of_steps = {
	.rage = return_steps, .prepare = return_learn,
	.begin = return_text_begin, .end = return_text_end
};
module_param_cb(returns_steps, &storm_ops, &of_steps, 0200);
