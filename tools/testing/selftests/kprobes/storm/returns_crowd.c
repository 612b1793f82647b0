// SPDX-License-Identifier: GPL-2.0
/*
 * A crowd of tasks, of which most sleep in a probed function, and some die
 * there; others take their place. An onlooker unwinds the stacks of those who
 * sleep. And tasks of user space come to sleep there, and may be killed.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/wait.h>
#include "returns.h"

struct person {
	struct task_struct *task;
	bool dead;		/* or about to be */
	struct walk walk;
	struct return_tail tail;
};

static struct person persons[RETURN_CROWD];
/* Whose task is which. */
static DEFINE_MUTEX(crowd);

static int live(void *data)
{
	struct person *person = data;
	struct walk *walk = &person->walk;
	struct rnd_state random;

	return_learn_tail(&person->tail);
	walk->tail = &person->tail;
	prandom_seed_state(&random, (long)data ^ jiffies);
	while (!READ_ONCE(storm_over)) {
		u32 bits = prandom_u32_state(&random);

		walk->depth = bits % (WALK_MOST + 1);
		walk->sleep = 1 + (bits >> 8) % (20 * HZ);
		bits = bits >> 4 & 15;
		walk->end = bits == 0 ? WALK_EXIT : bits == 1 ? WALK_UNWIND :
			    bits == 2 ? WALK_BACK : WALK_SLEEP;
		if (walk->end == WALK_EXIT)
			WRITE_ONCE(person->dead, true);
		return_start(walk, (u16)prandom_u32_state(&random));
	}
	return 0;
}

static int be_born(struct person *person, int number)
{
	struct task_struct *task;

	memset(person, 0, sizeof(*person));
	task = storm_thread(live, person, "crowd", number);
	if (IS_ERR(task))
		return PTR_ERR(task);
	person->task = task;
	return 0;
}

static void bury(struct person *person)
{
	struct task_struct *task;

	scoped_guard(mutex, &crowd) {
		task = person->task;
		person->task = NULL;
	}
	kthread_stop_put(task);
}

/* Fills the crowd, and puts others in the place of those who died. */
int return_crowd(void)
{
	int n, err = 0;

	while (!READ_ONCE(storm_over) && !err) {
		for (n = 0; n < RETURN_CROWD && !READ_ONCE(storm_over); n++) {
			struct person *person = &persons[n];

			if (person->task && !READ_ONCE(person->dead))
				continue;
			if (person->task)
				bury(person);
			guard(mutex)(&crowd);
			err = be_born(person, n);
		}
		storm_sleep(20);
	}
	if (err) {
		pr_err("no thread: %d\n", err);
		atomic_long_inc(&return_counts.refused);
		while (!READ_ONCE(storm_over))
			storm_sleep(100);
	}
	wake_up_all(&return_bed);
	for (n = 0; n < RETURN_CROWD; n++)
		if (persons[n].task)
			bury(&persons[n]);
	return 0;
}

int return_onlooker(void)
{
	struct rnd_state random;
	int n;

	prandom_seed_state(&random, 0x6c6f6f6b);
	while (!READ_ONCE(storm_over)) {
		for (n = 0; n < 16; n++) {
			struct person *person =
				&persons[prandom_u32_state(&random) %
					 RETURN_CROWD];

			guard(mutex)(&crowd);
			if (person->task && !READ_ONCE(person->dead))
				return_look_at(person->task, &person->walk);
		}
		return_weigh_meanwhile();
		atomic_long_set(&return_counts.open,
				max(atomic_long_read(&return_counts.open),
				    return_open()));
		storm_sleep(20);
	}
	return 0;
}

/* Who visits, while the probes are there that give an account of it. */
static atomic_t visitors;
static bool is_open;

void return_open_gate(void)
{
	WRITE_ONCE(is_open, true);
}

int return_close_gate(void)
{
	unsigned long end = jiffies + 60 * HZ;

	WRITE_ONCE(is_open, false);
	/* Who does not see that is counted: see return_visit(). */
	smp_mb();
	while (atomic_read(&visitors) && time_before(jiffies, end)) {
		wake_up_all(&return_bed);
		storm_sleep(20);
	}
	if (!atomic_read(&visitors))
		return 0;
	pr_err("%d visitors are still there\n", atomic_read(&visitors));
	return -EIO;
}

int return_visit(unsigned int milliseconds, bool unused)
{
	struct walk walk = {
		.end = WALK_SLEEP, .depth = 1,
		.sleep = msecs_to_jiffies(milliseconds),
	};
	int err = -EAGAIN;

	atomic_inc(&visitors);
	/* Who is not counted yet sees what return_close_gate() has written. */
	smp_mb__after_atomic();
	if (READ_ONCE(is_open)) {
		return_start(&walk, milliseconds);
		err = fatal_signal_pending(current) ? -EINTR : 0;
		if (err)
			atomic_long_inc(&return_counts.killed);
	}
	atomic_dec(&visitors);
	return err;
}
