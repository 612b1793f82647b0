// SPDX-License-Identifier: GPL-2.0
/*
 * A module that goes without unregistering its probes: one in its own memory,
 * one of which only the handler is its own, and one in its init memory.
 */
#include <linux/gfp.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include "probed.h"

noinline int kprobes_forgetful_function(int value)
{
	barrier();
	return value + 1;
}

static int hits;
module_param(hits, int, 0400);

static int count_hit(struct kprobe *kp, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static void after_hit(struct kprobe *kp, struct pt_regs *regs,
		      unsigned long flags)
{
}

static struct kprobe in_module = {
	.symbol_name = "kernel_clone",
	.pre_handler = count_hit,
	.post_handler = after_hit,
};

static struct kprobe on_itself = {
	.symbol_name = "kprobes_forgetful_function",
	.pre_handler = count_hit,
};

/* Hit by a breakpoint: the entry is ftrace's. */
static struct kprobe by_breakpoint = {
	.symbol_name = "do_sys_openat2",
	/* Behind the call of ftrace, or the first instruction. */
	.offset = IS_ENABLED(CONFIG_X86) ? 5 : IS_ENABLED(CONFIG_S390) ? 6 : 4,
	.pre_handler = count_hit,
};

static struct kprobe in_init __initdata = {
	.symbol_name = "kernel_clone",
};

/*
 * A page that nobody frees: until the module is told to go the core needs it,
 * and then it is too late.
 */
static struct kprobe *elsewhere;

static int __init forgetful_init(void)
{
	int err;

	elsewhere = (struct kprobe *)get_zeroed_page(GFP_KERNEL);
	if (!elsewhere)
		return -ENOMEM;
	elsewhere->symbol_name = "kernel_clone";
	elsewhere->pre_handler = count_hit;
	err = register_kprobe(&in_module) ?: register_kprobe(&on_itself) ?:
	      register_kprobe(&by_breakpoint) ?: register_kprobe(&in_init) ?:
	      register_kprobe(elsewhere);
	kprobes_forgetful_function(1);
	return err;
}
module_init(forgetful_init);

static void __exit forgetful_exit(void)
{
}
module_exit(forgetful_exit);

MODULE_DESCRIPTION("A module that forgets to unregister its probes");
MODULE_LICENSE("GPL");
