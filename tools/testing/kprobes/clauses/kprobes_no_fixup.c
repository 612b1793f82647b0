// SPDX-License-Identifier: GPL-2.0
/*
 * Probed divisions by zero that kill the task: one that goes on by itself, one
 * that is stepped. The CPU has to handle hits after each. Loaded alone, in a
 * boot of its own.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>

asmlinkage void kprobes_no_fixup_target(void);
asmlinkage void kprobes_no_fixup_after(void);

asm(".pushsection .text\n"
	".globl kprobes_no_fixup_target\n"
	".type kprobes_no_fixup_target, @function\n"
	"kprobes_no_fixup_target:\n"
	"	xor %ecx, %ecx\n"
	"kprobes_no_fixup_site:\n"
	"	div %ecx\n"
	"	" ASM_RET
	".size kprobes_no_fixup_target, . - kprobes_no_fixup_target\n"
	".globl kprobes_no_fixup_after\n"
	".type kprobes_no_fixup_after, @function\n"
	"kprobes_no_fixup_after:\n"
	"	xor %ecx, %ecx\n"
	"	" ASM_RET
	".size kprobes_no_fixup_after, . - kprobes_no_fixup_after\n"
	".popsection\n");

static int hits;

static int count_hit(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static void after_hit(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static int divide(void *unused)
{
	kprobes_no_fixup_target();
	return 0;
}

static int hit_after(void *unused)
{
	kprobes_no_fixup_after();
	return 0;
}

/* Until the thread is no more: by itself, or because it was killed. */
static int run_on_cpu_0(int (*function)(void *))
{
	struct task_struct *thread = kthread_create(function, NULL, "no_fixup");

	if (IS_ERR(thread))
		return PTR_ERR(thread);
	kthread_bind(thread, 0);
	get_task_struct(thread);
	wake_up_process(thread);
	while (!READ_ONCE(thread->exit_state))
		msleep(20);
	put_task_struct(thread);
	return 0;
}

static int try(const char *how, kprobe_post_handler_t post)
{
	struct kprobe site = {
		.symbol_name = "kprobes_no_fixup_site",
		.pre_handler = count_hit,
		.post_handler = post,
	};
	struct kprobe after = {
		.symbol_name = "kprobes_no_fixup_after",
		.pre_handler = count_hit,
	};
	int err = register_kprobe(&site) ?: register_kprobe(&after);

	if (err)
		return err;
	pr_info("no_fixup: %s: registered\n", how);
	hits = 0;
	err = run_on_cpu_0(divide);
	pr_info("no_fixup: %s: %d hits of 1\n", how, hits);
	hits = 0;
	err = err ?: run_on_cpu_0(hit_after);
	pr_info("no_fixup: %s: %d hits of 1 after\n", how, hits);
	unregister_kprobe(&after);
	unregister_kprobe(&site);
	return err;
}

static int __init no_fixup_init(void)
{
	return try("goes on", NULL) ?: try("stepped", after_hit);
}
module_init(no_fixup_init);

MODULE_DESCRIPTION("Probed divisions by zero that kill the task");
MODULE_LICENSE("GPL");
