// SPDX-License-Identifier: GPL-2.0
/*
 * What return probes say under the name that they have in C. A file has one
 * name for all that it says, and abi.c has another one.
 */
#define pr_fmt(fmt) "rethook: " fmt

#include <linux/kprobes.h>
#include <linux/printk.h>

#include "glue.h"

/* A call that nobody knows has returned to the trampoline. */
void __kprobes rust_kprobes_say_way_is_lost(void)
{
	pr_err("rethook: Return address not found! Maybe there is a bug in the kernel\n");
}
