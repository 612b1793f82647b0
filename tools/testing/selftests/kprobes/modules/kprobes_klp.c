// SPDX-License-Identifier: GPL-2.0
/*
 * A livepatch of kprobes_target that makes each load of it fail late. Before
 * that it registers a probe by address in the module that is coming.
 */
#include <linux/kprobes.h>
#include <linux/livepatch.h>
#include <linux/module.h>

static int replacement(int value)
{
	return value;
}

static struct klp_func funcs[] = {
	{ .old_name = "kprobes_target_function", .new_func = replacement },
	{ }
};

/* What registering returned: 1 until a load was tried. */
static int registering = 1;
module_param(registering, int, 0400);

static struct kprobe probe;

static int probe_and_refuse(struct klp_object *object)
{
	probe.addr = funcs[0].old_func;
	registering = register_kprobe(&probe);
	return -EINVAL;
}

static struct klp_object objects[] = {
	{
		.name = "kprobes_target",
		.funcs = funcs,
		.callbacks.pre_patch = probe_and_refuse,
	},
	{ }
};

static struct klp_patch patch = { .mod = THIS_MODULE, .objs = objects };

static int __init klp_init(void)
{
	return klp_enable_patch(&patch);
}
module_init(klp_init);

static void __exit klp_exit(void)
{
}
module_exit(klp_exit);

MODULE_INFO(livepatch, "Y");
MODULE_DESCRIPTION("A livepatch that refuses a module");
MODULE_LICENSE("GPL");
