// SPDX-License-Identifier: GPL-2.0
/*
 * Calls a function of the kernel's that is not exported, by its address: the
 * one that tells kprobes that ftrace is broken.
 */
#include <linux/module.h>

static unsigned long at;
module_param(at, ulong, 0);

/* No type is checked at the call: the function is not one to be called so. */
static int __init __nocfi kill_init(void)
{
	((void (*)(void))at)();
	return 0;
}
module_init(kill_init);

static void __exit kill_exit(void)
{
}
module_exit(kill_exit);

MODULE_DESCRIPTION("Says that ftrace is broken");
MODULE_LICENSE("GPL");
