// SPDX-License-Identifier: GPL-2.0
/*
 * What storms have in common, whatever they hit: parameters that let one rage
 * and tell what it has counted, text that must be what it was, and probes that
 * stay, of which no hit may be lost.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include "storm.h"

/* There is one storm at a time: all count in the same places. */
static DEFINE_MUTEX(alone);

static int judged(const struct storm_kind *kind, unsigned int number)
{
	const size_t size = kind->end - kind->begin;
	u8 *text = kmemdup(kind->begin, size, GFP_KERNEL);
	int err;

	if (!text)
		return -ENOMEM;
	err = kind->prepare ? kind->prepare() : 0;
	err = err ?: kind->rage(number, kind->strict);
	if (memcmp(text, kind->begin, size)) {
		pr_err("the text is not what it was\n");
		err = -EIO;
	}
	kfree(text);
	return err;
}

static int set(const char *text, const struct kernel_param *param)
{
	const struct storm_kind *kind = param->arg;
	unsigned int number;
	int err = kstrtouint(text, 0, &number);

	if (err)
		return err;
	kernel_param_unlock(THIS_MODULE);
	if (kind->begin) {
		guard(mutex)(&alone);
		err = judged(kind, number);
	} else {
		err = kind->rage(number, kind->strict);
	}
	kernel_param_lock(THIS_MODULE);
	return err;
}

const struct kernel_param_ops storm_ops = { .set = set };

static int get_counts(char *text, const struct kernel_param *param)
{
	const struct storm_count *count;
	int len = 0;

	for (count = param->arg; count->name; count++)
		len += sysfs_emit_at(text, len, "%s %ld\n", count->name,
				     atomic_long_read(count->count));
	return len;
}

const struct kernel_param_ops storm_counts_ops = { .get = get_counts };

bool storm_counts_are(const struct storm_count *count, int wanted)
{
	for (; count->name; count++) {
		long seen = atomic_long_read(count->count);

		if (count->wanted == wanted &&
		    (wanted == COUNT_NONE ? seen : !seen))
			return false;
	}
	return true;
}

int storm_drop_anchor(struct kprobe *anchor, kprobe_pre_handler_t pre,
		      kprobe_post_handler_t post)
{
	struct anchored *target = container_of(anchor, struct anchored, anchor);
	int err;

	*anchor = (struct kprobe) {
		.addr = (kprobe_opcode_t *)target->site,
		.pre_handler = pre, .post_handler = post,
	};
	atomic_long_set(&target->calls, 0);
	atomic_long_set(&target->hits, 0);
	err = register_kprobe(anchor);
	if (err)
		pr_err("no anchor at %s: %d\n", target->name, err);
	return err;
}

int storm_weigh_anchor(struct kprobe *anchor)
{
	struct anchored *target = container_of(anchor, struct anchored, anchor);
	long calls = atomic_long_read(&target->calls);
	long hits = atomic_long_read(&target->hits);
	long missed = anchor->nmissed;

	unregister_kprobe(anchor);
	pr_info("%-6s %8ld calls, %8ld hits, %6ld missed%s\n",
		target->name, calls, hits, missed,
		calls == hits + missed ? "" : ": NOT EQUAL");
	return calls == hits + missed ? 0 : -EIO;
}

struct task_struct *storm_thread(int (*run)(void *data), void *data,
				 const char *name, int number)
{
	struct task_struct *task = kthread_create(run, data, "%s/%d", name,
						  number);

	if (!IS_ERR(task)) {
		get_task_struct(task);
		wake_up_process(task);
	}
	return task;
}

void storm_fill(struct storm_registers *registers, u32 seed)
{
	unsigned long *each = (unsigned long *)registers;
	int n;

	for (n = 0; n < sizeof(*registers) / sizeof(*each); n++)
		each[n] = (n + seed) * 0x9e3779b97f4a7c15;
	registers->flags &= ARCH_FLAGS;
	registers->flags |= ARCH_INTERRUPT_FLAG;
}

static void dump(const char *what, const struct storm_registers *registers)
{
	print_hex_dump(KERN_ERR, what, DUMP_PREFIX_OFFSET, 32, 8, registers,
		       sizeof(*registers), false);
}

bool storm_is_right(const char *name, const struct storm_registers *given,
		    const struct storm_registers *right,
		    const struct storm_registers *found, atomic_long_t *wrong)
{
	if (!memcmp(found, right, sizeof(*found)))
		return true;
	if (atomic_long_inc_return(wrong) < 10) {
		pr_err("%s leaves what it must not:\n", name);
		dump("given ", given);
		dump("right ", right);
		dump("found ", found);
	}
	return false;
}
