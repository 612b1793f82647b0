// SPDX-License-Identifier: GPL-2.0
/*
 * A jprobe on the function that makes new tasks: its arguments are shown by
 * their names.
 *
 *	insmod jprobe_example.ko
 *	insmod jprobe_example.ko old=1
 *	rmmod jprobe_example
 *
 * The handler is called in the place of the function, with the same signature.
 * It may return, or with old=1 end as it had to in older kernels, by calling
 * jprobe_return(), which does not come back. Either way the function runs next,
 * with the arguments that its caller has given, whatever the handler does to
 * its own copy of them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched/task.h>

static bool old;
module_param(old, bool, 0444);
MODULE_PARM_DESC(old, "End the handler by jprobe_return()");

static atomic_long_t calls;

static void show(const char *way, const struct kernel_clone_args *args)
{
	pr_info("kernel_clone(%s): flags = 0x%llx, exit_signal = %d, %s\n",
		way, args->flags, args->exit_signal,
		args->fn ? "a thread of the kernel" : "a task");
	atomic_long_inc(&calls);
}

/* As kernel_clone() itself, in <linux/sched/task.h>. */
static pid_t in_its_place(struct kernel_clone_args *args)
{
	show("returns", args);
	/* Nobody looks at this. */
	return 0;
}

static pid_t in_its_place_of_old(struct kernel_clone_args *args)
{
	show("jprobe_return", args);
	jprobe_return();
	/* Never reached. */
	return 0;
}

static struct jprobe jprobe = {
	.kp.symbol_name = "kernel_clone",
	.entry = in_its_place,
};

static int __init jprobe_example_init(void)
{
	int ret;

	if (old)
		jprobe.entry = in_its_place_of_old;
	ret = register_jprobe(&jprobe);
	if (ret < 0) {
		pr_err("registering failed: %d\n", ret);
		return ret;
	}
	pr_info("a handler is called in the place of kernel_clone()\n");
	return 0;
}

static void __exit jprobe_example_exit(void)
{
	unregister_jprobe(&jprobe);
	pr_info("it was called %ld times, and missed %lu\n",
		atomic_long_read(&calls), jprobe.kp.nmissed);
}

module_init(jprobe_example_init)
module_exit(jprobe_example_exit)
MODULE_DESCRIPTION("Shows the arguments of a function by a jprobe");
MODULE_LICENSE("GPL");
