// SPDX-License-Identifier: GPL-2.0
/*
 * A return probe on any function. The module says how many calls have begun and
 * how many are over, and may go while some are not. It may forget to unregister
 * the probe, and another one, of which only the handler is its own.
 */
#include <linux/gfp.h>
#include <linux/kprobes.h>
#include <linux/module.h>

static int begun, over;
module_param(begun, int, 0400);
module_param(over, int, 0400);

static int enters(struct kretprobe_instance *call, struct pt_regs *regs)
{
	begun++;
	return 0;
}

static int returns(struct kretprobe_instance *call, struct pt_regs *regs)
{
	over++;
	return 0;
}

static char *symbol;
module_param(symbol, charp, 0400);

static struct kretprobe probe = {
	.entry_handler = enters,
	.handler = returns,
	.maxactive = 100,
};

static bool forgets;
module_param(forgets, bool, 0400);

static int __init watcher_init(void)
{
	struct kretprobe *elsewhere;

	probe.kp.symbol_name = symbol;
	if (!forgets)
		return register_kretprobe(&probe);
	/* A page that nobody frees: the core needs it when the module goes. */
	elsewhere = (struct kretprobe *)get_zeroed_page(GFP_KERNEL);
	if (!elsewhere)
		return -ENOMEM;
	elsewhere->kp.symbol_name = "hrtimer_nanosleep";
	elsewhere->handler = returns;
	return register_kretprobe(&probe) ?: register_kretprobe(elsewhere);
}
module_init(watcher_init);

static void __exit watcher_exit(void)
{
	if (!forgets)
		unregister_kretprobe(&probe);
	pr_info("watcher: %d begun, %d over, %d missed\n", begun, over,
		probe.nmissed);
}
module_exit(watcher_exit);

MODULE_DESCRIPTION("Watches the calls of a function");
MODULE_LICENSE("GPL");
