// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks that call a function with return probes, and sleep there until they
 * are woken, or die there.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/random.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include "returns.h"

struct sleeper {
	struct crowd *crowd;
	struct task_struct *task;
	long number;
	long result;
};

static long sleep(void *data)
{
	struct sleeper *sleeper = data;
	struct crowd *crowd = sleeper->crowd;

	atomic_inc(&crowd->asleep);
	wait_for_completion_state(&crowd->morning, TASK_IDLE);
	if (crowd->die)
		do_exit(0);
	return sleeper->number;
}

/* SLEEPER */
static int goes_to_sleep(void *data)
{
	struct sleeper *sleeper = data;

	wait_for_completion_state(&sleeper->crowd->evening, TASK_IDLE);
	sleeper->result = kprobes_returns_inner(sleep, sleeper);
	return 0;
}

static bool all_are_there(struct crowd *crowd, int count)
{
	for (; crowd->count < count; crowd->count++) {
		struct sleeper *sleeper = &crowd->all[crowd->count];
		struct task_struct *task;

		sleeper->crowd = crowd;
		sleeper->number = 1000 * crowd->count;
		task = kthread_create(goes_to_sleep, sleeper, "sleeper/%d",
				      crowd->count);
		if (IS_ERR(task))
			return false;
		sleeper->task = get_task_struct(task);
		wake_up_process(task);
	}
	return true;
}

/* All at once, or one after the other: then what is in store may grow. */
static void evening_comes(struct crowd *crowd)
{
	int n;

	if (!crowd->pauses)
		return complete_all(&crowd->evening);
	for (n = 0; n < crowd->count; n++) {
		complete(&crowd->evening);
		if (!get_random_u32_below(crowd->pauses))
			fsleep(get_random_u32_below(20 * USEC_PER_MSEC));
	}
}

bool crowd_sleeps(struct kunit *test, struct crowd *crowd, int count)
{
	unsigned long end = jiffies + 120 * HZ;
	bool there;

	init_completion(&crowd->evening);
	init_completion(&crowd->morning);
	atomic_set(&crowd->asleep, 0);
	crowd->count = 0;
	crowd->all = kvcalloc(count, sizeof(*crowd->all), GFP_KERNEL);
	there = crowd->all && all_are_there(crowd, count);
	/* All have come to where they wait for it. */
	msleep(100);
	evening_comes(crowd);
	while (atomic_read(&crowd->asleep) < crowd->count &&
	       time_before(jiffies, end))
		msleep(20);
	KUNIT_EXPECT_EQ(test, atomic_read(&crowd->asleep), count);
	return there;
}

int crowd_wakes(struct crowd *crowd)
{
	int n, wrong = 0;

	complete_all(&crowd->morning);
	for (n = 0; n < crowd->count; n++) {
		struct sleeper *sleeper = &crowd->all[n];

		kthread_stop_put(sleeper->task);
		wrong += sleeper->result !=
			 (crowd->die ? 0 : sleeper->number + 1);
	}
	kvfree(crowd->all);
	crowd->all = NULL;
	return wrong;
}

struct task_struct *crowd_task(const struct crowd *crowd, int number)
{
	return crowd->all[number].task;
}
