// SPDX-License-Identifier: GPL-2.0
/*
 * A probe with a post handler joins one without where ftrace calls from, and
 * goes last. The C implementation asks ftrace to stop what it has not begun,
 * keeps the probe after all, and says nothing: its memory is free, and used by
 * the next hit. Loaded alone, in a boot of its own.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/vmalloc.h>

#define TARGET "kprobes_posts_target"

static int hits;

static int count_hit(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static void after_hit(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static noinline void kprobes_posts_target(void)
{
	barrier();
}

static void (*call_target)(void) = kprobes_posts_target;

static struct kprobe first = {
	.symbol_name = TARGET,
	.pre_handler = count_hit,
};

static int __init posts_init(void)
{
	struct kprobe *last = vzalloc(sizeof(*last));
	int err;

	if (!last)
		return -ENOMEM;
	last->symbol_name = TARGET;
	last->pre_handler = count_hit;
	last->post_handler = after_hit;
	err = register_kprobe(&first) ?: register_kprobe(last);
	if (err)
		return err;
	pr_info("posts: registered\n");
	READ_ONCE(call_target)();
	unregister_kprobe(&first);
	unregister_kprobe(last);
	vfree(last);
	vm_unmap_aliases();
	READ_ONCE(call_target)();
	pr_info("posts: survived %d hits\n", hits);
	return 0;
}
module_init(posts_init);

static void __exit posts_exit(void)
{
}
module_exit(posts_exit);

MODULE_DESCRIPTION("A probe with a post handler that goes last");
MODULE_LICENSE("GPL");
