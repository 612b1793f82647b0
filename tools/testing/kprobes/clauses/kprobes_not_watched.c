// SPDX-License-Identifier: GPL-2.0
/*
 * A return probe that cannot be registered, and is unregistered all the same.
 * That kills a kernel with kprobes in C (defect D4).
 */
#include <linux/kprobes.h>
#include <linux/module.h>

static struct kretprobe probe = {
	.kp.symbol_name = "kprobes_no_such_symbol",
};

static int __init not_watched_init(void)
{
	pr_info("not_watched: refused by %d\n", register_kretprobe(&probe));
	unregister_kretprobe(&probe);
	pr_info("not_watched: survived\n");
	return 0;
}
module_init(not_watched_init);

static void __exit not_watched_exit(void)
{
}
module_exit(not_watched_exit);

MODULE_DESCRIPTION("Unregisters a return probe that was refused");
MODULE_LICENSE("GPL");
