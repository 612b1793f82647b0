// SPDX-License-Identifier: GPL-2.0
/*
 * What kills a kernel with kprobes in C, or with either implementation. Loaded
 * with "how" for one of these, in a boot of its own where the kernel must die.
 */
#include <linux/delay.h>
#include <linux/kdebug.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/vmalloc.h>
#include "crash.h"
#include "probed.h"

int hits;

int count_hit(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	return 0;
}

void after_hit(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

struct kprobe probe = { .pre_handler = count_hit };

int register_at(const char *symbol)
{
	probe.symbol_name = symbol;
	return register_kprobe(&probe);
}

/* Hits a probe there once, or more than once, and says that nothing came of it. */
int survives(const char *how, const char *symbol, void (*hit)(void))
{
	int err = register_at(symbol);

	if (err)
		return err;
	pr_info("%s: registered\n", how);
	hit();
	pr_info("%s: survived %d hits\n", how, hits);
	return 0;
}

/*
 * Faults that kill the task, divisions by zero or loads: of one that goes on by
 * itself, one that is stepped, one behind a jump. The CPU has to handle hits after
 * each. Who is asked whether to go on is given the registers that the CPU would go
 * on with: on x86 and arm, of the one behind the jump, in the copy.
 */
static int divide(void *function)
{
	((void (*)(void))function)();
	return 0;
}

static void *faulting;
static const char *given;

static int on_oops(struct notifier_block *block, unsigned long what, void *data)
{
	struct die_args *args = data;

	if (what == DIE_OOPS)
		given = instruction_pointer(args->regs) ==
			(long)faulting + FAULT_SAVES(faulting) ?
			"original" : "copy";
	return NOTIFY_DONE;
}

static struct notifier_block oopses = { .notifier_call = on_oops };

void await_jump(const struct kprobe *kp)
{
	int moments = 1000;

	while (!is_jump(kp) && moments--)
		msleep(20);
}

/* Until the thread is no more: by itself, or because it was killed. */
static int run_in_thread(int (*function)(void *), void *data, int cpu)
{
	struct task_struct *thread = kthread_create(function, data, "crash");

	if (IS_ERR(thread))
		return PTR_ERR(thread);
	if (cpu >= 0)
		kthread_bind(thread, cpu);
	get_task_struct(thread);
	wake_up_process(thread);
	while (!READ_ONCE(thread->exit_state))
		msleep(20);
	put_task_struct(thread);
	return 0;
}

static int call_after(void *unused)
{
	kprobes_no_fixup_after();
	return 0;
}

/* Says whether CPU 0 handles a hit now. */
static int hit_after(const char *what, const char *how)
{
	struct kprobe after = {
		.symbol_name = "kprobes_no_fixup_after",
		.pre_handler = count_hit,
	};
	int err = register_kprobe(&after);

	if (err)
		return err;
	hits = 0;
	err = run_in_thread(call_after, NULL, 0);
	pr_info("%s: %s: %d hits of 1 after\n", what, how, hits);
	unregister_kprobe(&after);
	return err;
}

static int try_fault(const char *how, kprobe_post_handler_t post,
		     void (*function)(void), const char *symbol,
		     void (*await)(const struct kprobe *kp))
{
	struct kprobe site = {
		.symbol_name = symbol,
		.pre_handler = count_hit,
		.post_handler = post,
	};
	int err = register_die_notifier(&oopses) ?: register_kprobe(&site);

	if (err)
		return err;
	faulting = site.addr;
	if (await)
		await(&site);
	pr_info("no_fixup: %s: registered\n", how);
	hits = 0;
	given = "nothing";
	err = run_in_thread(divide, function, 0);
	pr_info("no_fixup: %s: %d hits of 1, given the %s\n", how, hits, given);
	err = err ?: hit_after("no_fixup", how);
	unregister_kprobe(&site);
	unregister_die_notifier(&oopses);
	return err;
}

static int no_fixup(void)
{
	return try_fault("goes on", NULL, kprobes_no_fixup_target,
			 "kprobes_no_fixup_site", NULL) ?:
	       try_fault("stepped", after_hit, kprobes_no_fixup_target,
			 "kprobes_no_fixup_site", NULL);
}

static int no_fixup_jump(void)
{
	return try_fault("jumps", NULL, kprobes_no_fixup_jump,
			 "kprobes_no_fixup_jump_site", await_jump);
}

/*
 * A return probe that cannot be registered, and is unregistered all the same
 * (defect D4).
 */
static int not_watched(void)
{
	static struct kretprobe rp = {
		.kp.symbol_name = "kprobes_no_such_symbol",
	};

	pr_info("not_watched: refused by %d\n", register_kretprobe(&rp));
	unregister_kretprobe(&rp);
	pr_info("not_watched: survived\n");
	return 0;
}

/*
 * What must not be of calls that return probes watch. First what is known of
 * a call's frame is made wrong, twice: its client is not told, which is warned
 * of once. Then a task comes to the trampoline by itself, and nobody knows
 * where it would go on.
 */
static unsigned long trampoline;
module_param(trampoline, ulong, 0);

static struct kretprobe_instance *call;
static int told;

noinline int kprobes_lost_way_function(void)
{
	barrier();
	call->node.frame++;
	return 5;
}

static int enters(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	call = instance;
	return 0;
}

static int returns(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	told++;
	return 0;
}

static int lost_way(void)
{
	static struct kretprobe rp = {
		.kp.symbol_name = "kprobes_lost_way_function",
		.entry_handler = enters,
		.handler = returns,
	};
	int err = register_kretprobe(&rp), n, back = 0;

	if (err)
		return err;
	for (n = 1; n <= 2; n++) {
		back += kprobes_lost_way_function() == 5;
		pr_info("lost_way: %d back of %d, %d told\n", back, n, told);
	}
	unregister_kretprobe(&rp);
	pr_info("lost_way: goes\n");
	kprobes_lost_way_return_to(trampoline);
	pr_info("lost_way: survived\n");
	return 0;
}

/*
 * A handler that sleeps, which none may, in the detour of a jump: with a probe
 * that stays, and with one that is unregistered meanwhile, so that there is no
 * detour to come back to.
 */
static int sleep_in_handler(struct kprobe *p, struct pt_regs *regs)
{
	fsleep(2 * USEC_PER_SEC);
	return 0;
}

static struct kprobe sleeping = {
	.symbol_name = "kprobes_sleeps_target",
	.pre_handler = sleep_in_handler,
};

static int call_and_sleep(void *unused)
{
	pr_info("sleeps: back with %ld\n", kprobes_sleeps_target(1));
	return 0;
}

static void unregister_sleeping(struct work_struct *unused)
{
	unregister_kprobe(&sleeping);
	pr_info("sleeps: unregistered\n");
}

static DECLARE_DELAYED_WORK(unregistering, unregister_sleeping);

static int sleeps(void)
{
	int err = register_kprobe(&sleeping);

	if (err)
		return err;
	await_jump(&sleeping);
	pr_info("sleeps: registered, %s jump\n", is_jump(&sleeping) ? "a" : "no");
	err = run_in_thread(call_and_sleep, NULL, -1);
	schedule_delayed_work(&unregistering, HZ / 2);
	err = err ?: run_in_thread(call_and_sleep, NULL, -1);
	flush_delayed_work(&unregistering);
	pr_info("sleeps: goes\n");
	return err;
}

/* A handler that dies in a jump: the kernel goes on, and the CPU handles hits. */
static int die_in_handler(struct kprobe *p, struct pt_regs *regs)
{
	BUG();
}

static int dies(void)
{
	static struct kprobe dying = {
		.symbol_name = "kprobes_sleeps_target",
		.pre_handler = die_in_handler,
	};
	int err = register_kprobe(&dying);

	if (err)
		return err;
	await_jump(&dying);
	pr_info("dies: registered, %s jump\n", is_jump(&dying) ? "a" : "no");
	err = run_in_thread(call_and_sleep, NULL, 0);
	unregister_kprobe(&dying);
	return err ?: hit_after("dies", "unregistered");
}

/*
 * A probe with a post handler joins one without where ftrace calls from, and
 * goes last. The C implementation asks ftrace to stop what it has not begun,
 * keeps the probe after all, and says nothing: its memory is free, and used by
 * the next hit.
 */
static noinline void kprobes_posts_target(void)
{
	barrier();
}

static void (*call_target)(void) = kprobes_posts_target;

static int posts(void)
{
	struct kprobe *last = vzalloc(sizeof(*last));
	int err;

	if (!last)
		return -ENOMEM;
	last->symbol_name = "kprobes_posts_target";
	last->pre_handler = count_hit;
	last->post_handler = after_hit;
	err = register_at("kprobes_posts_target") ?: register_kprobe(last);
	if (err)
		return err;
	pr_info("%s: registered\n", __func__);
	READ_ONCE(call_target)();
	unregister_kprobe(&probe);
	unregister_kprobe(last);
	vfree(last);
	vm_unmap_aliases();
	READ_ONCE(call_target)();
	pr_info("%s: survived %d hits\n", __func__, hits);
	return 0;
}

static char *how = "";
module_param(how, charp, 0);

static const struct how hows[] = {
	HOW(no_fixup), HOW(no_fixup_jump), HOW(not_watched), HOW(lost_way),
	HOW(posts), HOW(sleeps), HOW(dies), {}
};

static int result;

static int run(void *data)
{
	int (*function)(void) = data;

	result = function();
	return 0;
}

/* The thread may die, but the module can be unloaded, and loaded again. */
static int find_and_run(const struct how *each)
{
	for (; each->name; each++)
		if (!strcmp(how, each->name))
			return run_in_thread(run, each->run, -1) ?: result;
	return -ENOENT;
}

static int __init crash_init(void)
{
	int err = find_and_run(hows);

	return err == -ENOENT ? find_and_run(arch_hows) : err;
}
module_init(crash_init);

void __weak arch_exit(void)
{
}

static void __exit crash_exit(void)
{
	arch_exit();
	unregister_kprobe(&probe);
}
module_exit(crash_exit);

MODULE_DESCRIPTION("Probes that kill a kernel");
MODULE_LICENSE("GPL");
