// SPDX-License-Identifier: GPL-2.0
/*
 * A module to be probed while it comes, is there and goes: text of both kinds,
 * and functions that nobody may probe.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include "probed.h"

/* Called by whoever writes to the parameter: the module's ordinary text. */
noinline int kprobes_target_function(int value)
{
	barrier();
	return value + 1;
}

/* The same, without a call of ftrace's: hit by a breakpoint. */
noinline notrace int kprobes_target_untraced(int value)
{
	barrier();
	return value + 1;
}

static int set_call(const char *text, const struct kernel_param *param)
{
	int times, err = kstrtoint(text, 0, &times);

	while (!err && times-- > 0) {
		kprobes_target_function(times);
		kprobes_target_untraced(times);
	}
	return err;
}

static const struct kernel_param_ops call_ops = { .set = set_call };
module_param_cb(call, &call_ops, NULL, 0200);

noinline int __kprobes kprobes_target_section(int value)
{
	return value + 1;
}

noinline int kprobes_target_named(int value)
{
	barrier();
	return value + 1;
}
NOKPROBE_SYMBOL(kprobes_target_named);

/* A probe on init text that is there: gone once the module is. */
static bool probe_init;
module_param(probe_init, bool, 0400);

static int init_hits;
module_param(init_hits, int, 0400);

static int count_init(struct kprobe *kp, struct pt_regs *regs)
{
	init_hits++;
	return 0;
}

static struct kprobe init_probe = {
	.symbol_name = "kprobes_target_init_text",
	.pre_handler = count_init,
};

noinline int __init kprobes_target_init_text(int value)
{
	barrier();
	return value + 1;
}

static int __init target_init(void)
{
	int err;

	if (!probe_init)
		return 0;
	err = register_kprobe(&init_probe);
	if (!err)
		kprobes_target_init_text(1);
	return err;
}
module_init(target_init);

static void __exit target_exit(void)
{
	struct kprobe probe = { .symbol_name = "kprobes_target_function" };
	int err = register_kprobe(&probe);

	if (!err)
		unregister_kprobe(&probe);
	pr_info("kprobes_target: going, registering says %d\n", err);
	if (probe_init)
		unregister_kprobe(&init_probe);
}
module_exit(target_exit);

MODULE_DESCRIPTION("A module to be probed");
MODULE_LICENSE("GPL");
