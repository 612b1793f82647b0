// SPDX-License-Identifier: GPL-2.0
/*
 * Where the instructions are, by the CPU's single steps, or by reading them where
 * it has none: of each function as it is, then with a jump in it. The instructions
 * that run in the detour, after what all detours have in common, stand for the
 * first ones of the function.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kallsyms.h>
#include <linux/kdebug.h>
#include <linux/sched.h>
#include <linux/string.h>
#include "jumps.h"

#define MAX_STEPS	4096

struct jump_spot jump_common[JUMP_COMMON];
unsigned long jump_common_at;

static struct {
	struct task_struct *task;
	int count;
	unsigned long at[MAX_STEPS];
} steps;

#ifdef ARCH_STEPPED
static int stepped(struct notifier_block *block, unsigned long event,
		   void *data)
{
	const struct die_args *args = data;

	if (event != ARCH_STEPPED || current != steps.task)
		return NOTIFY_DONE;
	if (steps.count < MAX_STEPS)
		steps.at[steps.count++] = instruction_pointer(args->regs);
	return NOTIFY_STOP;
}

static struct notifier_block block = {
	.notifier_call = stepped,
	.priority = INT_MAX,
};

static void run_in_steps(struct jump_target *target, bool carry)
{
	struct storm_registers registers = {
		.flags = ARCH_STEP_FLAG | (carry ? ARCH_CARRY : 0),
	};

	local_irq_disable();
	steps.task = current;
	if (!ARCH_STEP_FLAG)
		arch_step(true);
	storm_run(&registers, target->function, 1);
	if (!ARCH_STEP_FLAG)
		arch_step(false);
	steps.task = NULL;
	local_irq_enable();
}
#else
static void run_in_steps(struct jump_target *target, bool carry)
{
	steps.count = arch_read_steps(target->function, steps.at, MAX_STEPS);
}
#endif

/* Which step is the first one at the place; -1 if there is none. */
static int step(struct jump_target *target, bool carry)
{
	int n;

	steps.count = 0;
	run_in_steps(target, carry);
	if (steps.count == MAX_STEPS) {
		pr_err("%s: more than %d steps\n", target->name, MAX_STEPS);
		return -1;
	}
	for (n = 0; n < steps.count; n++)
		if (steps.at[n] == (unsigned long)target->site)
			return n;
	return -1;
}

/*
 * What runs in the function, and in what it calls; not what is elsewhere: where
 * a return is a jump to a return thunk, that may take any number of steps.
 */
static int learn_text(struct jump_target *target, bool carry)
{
	unsigned long *insns = target->insns[carry];
	int n = step(target, carry), k = 0;

	if (n < 0)
		return -EIO;
	memset(insns, 0, sizeof(target->insns[carry]));
	for (; n < steps.count && steps.at[n] != (unsigned long)storm_came_back; n++) {
		unsigned long at = steps.at[n];
		unsigned long into = at - (unsigned long)target->site;

		if (at < (unsigned long)jump_text_begin ||
		    at >= (unsigned long)jump_text_end)
			continue;
		/* One stays free, as the last. */
		if (k == JUMP_INSNS - 1) {
			pr_err("%s: more than %d instructions\n", target->name,
			       k);
			return -EIO;
		}
		insns[k++] = at;
		if (into < JUMP_TEXT)
			target->text[into].original = at;
	}
	return k ? 0 : -EIO;
}

static bool is_common(unsigned long at)
{
	char name[KSYM_SYMBOL_LEN];

	if (at - jump_common_at >= JUMP_COMMON)
		return false;
	sprint_symbol_no_offset(name, at);
	return str_has_prefix(name, "rust_kprobes_detour");
}

/* Does somebody wait for the CPU? What only then runs is rare. */
static bool waits;

static void add_common(unsigned long at)
{
	struct jump_spot *spot = &jump_common[at - jump_common_at];

	if (!spot->original)
		spot->rare = waits;
	spot->original = at;
}

static int learn_detour(struct jump_target *target, bool carry)
{
	int n = step(target, carry), k = 0, begin = 0, common = 0, backward = 0;
	unsigned long slot, before = 0;
	const int end = ARCH_DETOUR_END;

	if (n < 0 || ++n >= steps.count)
		return -EIO;
	slot = round_down(steps.at[n], JUMP_SLOT);
	for (; n < steps.count && steps.at[n] - slot < JUMP_SLOT; n++, begin++)
		target->slot[steps.at[n] - slot].original =
			(unsigned long)target->site;
	if (n < steps.count && !jump_common_at)
		jump_common_at = steps.at[n];
	for (; n < steps.count && steps.at[n] - slot >= JUMP_SLOT; n++) {
		if (!is_common(steps.at[n]))
			continue;
		add_common(steps.at[n]);
		common++;
		backward += steps.at[n] < before;
		before = steps.at[n];
	}
	for (; n < steps.count && steps.at[n] - slot < JUMP_SLOT; n++, k++) {
		const int insn = max(k - end, 0);

		if (insn == JUMP_INSNS || !target->insns[carry][insn])
			return -EIO;
		target->slot[steps.at[n] - slot].original =
			target->insns[carry][insn];
	}
	pr_info("%s: %d steps into the detour, %d in common, %d in the copy\n",
		target->name, begin, common, k - end);
	return begin == ARCH_DETOUR_BEGIN && common >= ARCH_DETOUR_COMMON &&
	       backward == (waits && ARCH_DETOUR_WAITS) && k > end ? 0 : -EIO;
}

static int let_wait(struct kprobe *kp, struct pt_regs *regs)
{
	if (waits)
		set_preempt_need_resched();
	return 0;
}

unsigned int jump_ms = 400;
module_param(jump_ms, uint, 0400);

static int learn_detours(void)
{
	unsigned long begin;
	struct kprobe *batch[JUMPS];
	unsigned int took;
	int n, err;

	for (n = 0; n < JUMPS; n++) {
		struct jump_target *target = &jump_targets[n];

		target->anchor = (struct kprobe) {
			.addr = (void *)target->site, .pre_handler = let_wait,
		};
		batch[n] = &target->anchor;
	}
	err = register_kprobes(batch, JUMPS);
	if (err)
		return err;
	begin = jiffies;
	storm_wait_for(jump_are_there(JUMPS), 60);
	took = jiffies_to_msecs(jiffies - begin);
	pr_info("jumps in the place of breakpoints after %u ms\n", took);
	WRITE_ONCE(jump_ms, clamp(took, 400U, 15000U));
	for (n = 0; n < JUMPS && !err; n++) {
		struct jump_target *target = &jump_targets[n];

		err = jump_is_there(target) ? 0 : -EIO;
		waits = false;
		err = err ?: learn_detour(target, false);
		waits = true;
		err = err ?: learn_detour(target, true);
		if (err)
			pr_err("no detour of %s that I can follow\n",
			       target->name);
	}
	unregister_kprobes(batch, JUMPS);
	return err;
}

int jump_learn(void)
{
	static bool learned;
	int n, err = 0;

	if (learned)
		return 0;
#ifdef ARCH_STEPPED
	register_die_notifier(&block);
#endif
	for (n = 0; n < JUMPS && !err; n++)
		err = learn_text(&jump_targets[n], false) ?:
		      learn_text(&jump_targets[n], true);
	err = err ?: learn_detours();
#ifdef ARCH_STEPPED
	unregister_die_notifier(&block);
#endif
	learned = !err;
	return err;
}
