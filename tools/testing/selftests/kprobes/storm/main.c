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
#include <linux/timekeeping.h>
#include "storm.h"

struct target storm_targets[TARGETS] = ARCH_TARGETS;

struct storm_counts storm_counts;
bool storm_over;

unsigned int storm_tick_us = 200;
module_param_named(tick_us, storm_tick_us, uint, 0600);

static int count_anchor(struct kprobe *kp, struct pt_regs *regs)
{
	atomic_long_inc(&container_of(kp, struct anchored, anchor)->hits);
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
	int err = 0;

	for (target = storm_targets;
	     target < storm_targets + TARGETS && !err; target++)
		err = storm_drop_anchor(&target->anchor, count_anchor,
					target->function == storm_traced ?
					after_traced : NULL);
	return err;
}

static int weigh_anchors(void)
{
	struct target *target;
	int err = 0;

	for (target = storm_targets; target < storm_targets + TARGETS; target++)
		err = storm_weigh_anchor(&target->anchor) ?: err;
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
				storm_thread(crews[crew].run, (void *)(long)n,
					     crew ? "storm/1" : "storm/0", n);

			if (IS_ERR(thread))
				pr_err("no thread\n");
			else
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

#define COUNT(of, wanted)	STORM_COUNT(storm_counts, of, wanted)

static struct storm_count counted[] = {
	COUNT(wrong, COUNT_NONE), COUNT(late, COUNT_NONE),
	COUNT(refused, COUNT_NONE), COUNT(rounds, COUNT_ANY),
	COUNT(hits, COUNT_ANY), COUNT(ticks, COUNT_ANY),
	COUNT(inside, COUNT_ANY), {}
};

module_param_cb(counts, &storm_counts_ops, counted, 0400);

static int storm(unsigned int seconds, bool anchored)
{
	int err = 0;

	memset(&storm_counts, 0, sizeof(storm_counts));
	if (anchored)
		err = drop_anchors();
	if (!err) {
		storm_rage(seconds, crews, storm_tick, NULL);
		if (anchored)
			err = weigh_anchors();
	}
	return storm_counts_are(counted, COUNT_NONE) ? err : -EIO;
}

#define STORM(is_anchored)						\
	.rage = storm, .strict = is_anchored,				\
	.begin = storm_text_begin, .end = storm_text_end

static struct storm_kind of_anchored = { STORM(true) };
static struct storm_kind of_loose = { STORM(false) };
module_param_cb(anchored, &storm_ops, &of_anchored, 0200);
module_param_cb(loose, &storm_ops, &of_loose, 0200);

MODULE_DESCRIPTION("A storm of probes");
MODULE_LICENSE("GPL");
