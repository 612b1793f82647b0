// SPDX-License-Identifier: GPL-2.0
/*
 * Probes that outlive the module that they are on. Each has three parameters:
 * writing to it registers, unregisters, enables or disables, and the errno is
 * the writer's; its hits; and whether it is said to be gone.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/string.h>

struct prober {
	struct kprobe kp;
	const char *symbol;
	int hits;
};

static int count_hit(struct kprobe *kp, struct pt_regs *regs)
{
	container_of(kp, struct prober, kp)->hits++;
	return 0;
}

static int set_prober(const char *text, const struct kernel_param *param)
{
	struct prober *prober = param->arg;

	if (sysfs_streq(text, "register")) {
		memset(&prober->kp, 0, sizeof(prober->kp));
		prober->kp.symbol_name = prober->symbol;
		prober->kp.pre_handler = count_hit;
		prober->hits = 0;
		return register_kprobe(&prober->kp);
	}
	if (sysfs_streq(text, "enable"))
		return enable_kprobe(&prober->kp);
	if (sysfs_streq(text, "disable"))
		return disable_kprobe(&prober->kp);
	if (!sysfs_streq(text, "unregister"))
		return -EINVAL;
	unregister_kprobe(&prober->kp);
	return prober->kp.addr ? 0 : -ENOENT;
}

static int get_prober(char *text, const struct kernel_param *param)
{
	const struct prober *prober = param->arg;

	return sysfs_emit(text, "%d%s%s\n", prober->hits,
			  kprobe_gone((struct kprobe *)&prober->kp) ?
			  " gone" : "",
			  prober->kp.flags & KPROBE_FLAG_DISABLED ?
			  " disabled" : "");
}

static const struct kernel_param_ops prober_ops = {
	.set = set_prober,
	.get = get_prober,
};

#define PROBER(name, of)						\
static struct prober prober_##name = { .symbol = of };			\
module_param_cb(name, &prober_ops, &prober_##name, 0600)

PROBER(function, "kprobes_target_function");
PROBER(again, "kprobes_target_function");
PROBER(untraced, "kprobes_target_untraced");
PROBER(named, "kprobes_target_named");
PROBER(section, "kprobes_target_section");
PROBER(init, "kprobes_target_init_text");

static bool leaves;
module_param(leaves, bool, 0600);

/* The notifier is called after kprobes' own, when asynchronous calls may still run. */
static int on_module(struct notifier_block *block, unsigned long state, void *data)
{
	const struct module *module = data;

	if (!leaves || state != MODULE_STATE_GOING ||
	    strcmp(module->name, "kprobes_target"))
		return NOTIFY_DONE;
	unregister_kprobe(&prober_untraced.kp);
	/* The parameter that calls the function. */
	return notifier_from_errno(module->kp->ops->set("1", module->kp));
}

static struct notifier_block modules = {
	.notifier_call = on_module,
	.priority = INT_MIN,
};

static int __init watch_modules(void)
{
	return register_module_notifier(&modules);
}
module_init(watch_modules);

static void __exit unwatch_modules(void)
{
	unregister_module_notifier(&modules);
}
module_exit(unwatch_modules);

MODULE_DESCRIPTION("Probes on another module");
MODULE_LICENSE("GPL");
