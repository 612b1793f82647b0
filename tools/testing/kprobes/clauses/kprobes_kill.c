// SPDX-License-Identifier: GPL-2.0
/*
 * Calls a function of the kernel's that is not exported, by its address: the
 * one that tells kprobes that ftrace is broken.
 */
#include <linux/module.h>
#include <asm/nospec-branch.h>

static unsigned long at;
module_param(at, ulong, 0);

static int __init kill_init(void)
{
	/* Not as C would call it: nobody expects that it is called so. */
	asm volatile (ANNOTATE_RETPOLINE_SAFE "\n\tcall *%[at]"
		      : ASM_CALL_CONSTRAINT
		      : [at] "r" (at)
		      : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10",
			"r11", "memory", "cc");
	return 0;
}
module_init(kill_init);

static void __exit kill_exit(void)
{
}
module_exit(kill_exit);

MODULE_DESCRIPTION("Says that ftrace is broken");
MODULE_LICENSE("GPL");
