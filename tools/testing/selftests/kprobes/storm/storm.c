// SPDX-License-Identifier: GPL-2.0
/*
 * What storms have in common, whatever they hit: parameters that let one rage
 * and tell what it has counted, text that must be what it was, and probes that
 * stay, of which no hit may be lost.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

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
	unsigned int number;
	int err = kstrtouint(text, 0, &number);

	if (err)
		return err;
	kernel_param_unlock(THIS_MODULE);
	scoped_guard(mutex, &alone)
		err = judged(param->arg, number);
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

int storm_drop_anchor(const char *name, struct kprobe *anchor)
{
	int err = register_kprobe(anchor);

	if (err)
		pr_err("no anchor at %s: %d\n", name, err);
	return err;
}

int storm_weigh_anchor(const char *name, struct kprobe *anchor, long calls,
		       long hits)
{
	long missed = anchor->nmissed;

	unregister_kprobe(anchor);
	pr_info("%-6s %8ld calls, %8ld hits, %6ld missed%s\n", name, calls,
		hits, missed, calls == hits + missed ? "" : ": NOT EQUAL");
	return calls == hits + missed ? 0 : -EIO;
}
