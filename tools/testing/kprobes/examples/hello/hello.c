// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/kprobes.h>
#include <linux/module.h>

static char *symbol = "kernel_clone";
module_param(symbol, charp, 0444);
static atomic_t hits;

static int hit(struct kprobe *probe, struct pt_regs *regs)
{
	atomic_inc(&hits);
	return 0;
}

static struct kprobe probe = { .pre_handler = hit };

static int __init hello_init(void)
{
	probe.symbol_name = symbol;
	return register_kprobe(&probe);
}

static void __exit hello_exit(void)
{
	unregister_kprobe(&probe);
	pr_info("%s was hit %d times\n", symbol, atomic_read(&hits));
}

module_init(hello_init);
module_exit(hello_exit);
MODULE_DESCRIPTION("Counts the hits of a probe");
MODULE_LICENSE("GPL");
