// SPDX-License-Identifier: GPL-2.0
/*
 * Writing a number of seconds to the parameter "anchored" or "loose" lets a
 * storm rage for so long; an error is what must not be. "counts" tells.
 *
 * While it is anchored nothing may keep a probe from being hit. While it is
 * loose, whoever wants to may turn all probes off and on.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include "storm.h"

struct target storm_targets[TARGETS] = {
	[TARGET_MOVE] = { "move", storm_move, storm_move_site },
	[TARGET_RIP] = { "rip", storm_rip, storm_rip_site },
	[TARGET_LOAD] = { "load", storm_load, storm_load_site },
	[TARGET_JUMP] = { "jump", storm_jump, storm_jump_site },
	[TARGET_CALL] = { "call", storm_calls, storm_call_site },
	[TARGET_RETURN] = { "return", storm_return, storm_return_site },
	[TARGET_TRACED] = { "traced", storm_traced,
			    (const u8 *)storm_traced },
};

struct storm_counts storm_counts;
bool storm_over;

unsigned int storm_tick_us = 200;
module_param_named(tick_us, storm_tick_us, uint, 0600);

/* There is one storm at a time: all count in the same places. */
DEFINE_MUTEX(storm_alone);

static int count_anchor(struct kprobe *kp, struct pt_regs *regs)
{
	atomic_long_inc(&container_of(kp, struct target, anchor)->hits);
	return 0;
}

/*
 * With a post handler from the beginning ftrace calls us in one way all the
 * time: in the moment between two ways a hit can go uncounted.
 */
static void after_traced(struct kprobe *kp, struct pt_regs *regs,
			 unsigned long flags)
{
}

static int drop_anchors(void)
{
	struct target *target;

	for (target = storm_targets; target < storm_targets + TARGETS; target++) {
		int err;

		memset(&target->anchor, 0, sizeof(target->anchor));
		target->anchor.addr = (kprobe_opcode_t *)target->site;
		target->anchor.pre_handler = count_anchor;
		if (target == &storm_targets[TARGET_TRACED])
			target->anchor.post_handler = after_traced;
		err = register_kprobe(&target->anchor);
		if (err) {
			pr_err("no anchor at %s: %d\n", target->name,
			       err);
			return err;
		}
	}
	return 0;
}

/* Each call is a hit, or one that was missed. */
static int weigh_anchors(void)
{
	struct target *target;
	int err = 0;

	for (target = storm_targets; target < storm_targets + TARGETS; target++) {
		long calls = atomic_long_read(&target->calls);
		long hits = atomic_long_read(&target->hits);
		long missed = target->anchor.nmissed;

		unregister_kprobe(&target->anchor);
		pr_info("%-6s %8ld calls, %8ld hits, %6ld missed%s\n",
			target->name, calls, hits, missed,
			calls == hits + missed ? "" : ": NOT EQUAL");
		if (calls != hits + missed)
			err = -EIO;
	}
	return err;
}

#define MOST_THREADS	16

/* It is over after some seconds, or when it is said to be done. */
void storm_rage(unsigned int seconds, const struct storm_crew crews[2],
		storm_tick_fn *tick, bool (*is_done)(void))
{
	time64_t end = ktime_get_seconds() + seconds;
	struct task_struct *threads[MOST_THREADS];
	int n, crew, count = 0;

	WRITE_ONCE(storm_over, false);
	for (crew = 0; crew < 2; crew++) {
		for (n = 0; n < crews[crew].count; n++) {
			struct task_struct *thread =
				kthread_create(crews[crew].run, (void *)(long)n,
					       "storm/%d/%d", crew, n);

			if (IS_ERR(thread)) {
				pr_err("no thread\n");
				continue;
			}
			/* It ends by itself, and stays to be waited for. */
			get_task_struct(thread);
			wake_up_process(thread);
			threads[count++] = thread;
		}
	}
	storm_start_timers(tick);
	while (ktime_get_seconds() < end && !(is_done && is_done()))
		storm_sleep(1000);
	WRITE_ONCE(storm_over, true);
	storm_stop_timers();
	while (count-- > 0)
		kthread_stop_put(threads[count]);
}

static const struct storm_crew crews[2] = {
	{ storm_hitter, HITTERS }, { storm_churner, CHURNERS },
};

static int storm(unsigned int seconds, bool anchored)
{
	const size_t size = storm_text_end - storm_text_begin;
	struct target *target;
	int err = 0;
	u8 *text = kmemdup(storm_text_begin, size, GFP_KERNEL);

	if (!text)
		return -ENOMEM;
	for (target = storm_targets; target < storm_targets + TARGETS; target++) {
		atomic_long_set(&target->calls, 0);
		atomic_long_set(&target->hits, 0);
	}
	memset(&storm_counts, 0, sizeof(storm_counts));
	if (anchored)
		err = drop_anchors();
	if (!err) {
		storm_rage(seconds, crews, storm_tick, NULL);
		if (anchored)
			err = weigh_anchors();
	}
	if (memcmp(text, storm_text_begin, size)) {
		pr_err("the text is not what it was\n");
		err = -EIO;
	}
	if (atomic_long_read(&storm_counts.wrong) ||
	    atomic_long_read(&storm_counts.late) ||
	    atomic_long_read(&storm_counts.refused))
		err = -EIO;
	kfree(text);
	return err;
}

static int set_storm(const char *text, const struct kernel_param *param)
{
	unsigned int seconds;
	int err = kstrtouint(text, 0, &seconds);

	if (err)
		return err;
	kernel_param_unlock(THIS_MODULE);
	scoped_guard(mutex, &storm_alone)
		err = storm(seconds, param->arg);
	kernel_param_lock(THIS_MODULE);
	return err;
}

static const struct kernel_param_ops storm_ops = { .set = set_storm };
module_param_cb(anchored, &storm_ops, &storm_over, 0200);
module_param_cb(loose, &storm_ops, NULL, 0200);

#define COUNTS	"wrong %ld\nlate %ld\nrefused %ld\nrounds %ld\n" \
		"hits %ld\nticks %ld\ninside %ld\n"

static int get_counts(char *text, const struct kernel_param *param)
{
	const struct storm_counts *counts = &storm_counts;

	return sysfs_emit(text, COUNTS,
			  atomic_long_read(&counts->wrong),
			  atomic_long_read(&counts->late),
			  atomic_long_read(&counts->refused),
			  atomic_long_read(&counts->rounds),
			  atomic_long_read(&counts->hits),
			  atomic_long_read(&counts->ticks),
			  atomic_long_read(&counts->inside));
}

static const struct kernel_param_ops counts_ops = { .get = get_counts };
module_param_cb(counts, &counts_ops, NULL, 0400);

MODULE_DESCRIPTION("A storm of probes");
MODULE_LICENSE("GPL");
