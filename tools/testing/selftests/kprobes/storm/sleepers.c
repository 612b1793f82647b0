// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks come through a jump to a call, and fall asleep in what is called. Then
 * the jump goes, in each way that there is, and comes again; the probe goes; the
 * memory of its detour is used for another one. All that while some of them
 * wake up, and have to come back to behind the call. The others do so last.
 *
 * Who sleeps is not in the detour, and may sleep on when that is another one's:
 * it is who has not slept since that it must be kept for.
 *
 * Writing a number of tasks to the parameter "sleepers" has so many fall asleep.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/umh.h>
#include "jumps.h"

struct sleeper {
	struct completion morning;
	struct task_struct *task;
	long number;
	long result;
};

/* With the jump in its place: what sleeps is called by a detour. */
static const u8 *const site = (const u8 *)jump_sleeper + ARCH_MARK;

static atomic_t asleep, awake, by_jump;

asmlinkage long jump_bed(struct sleeper *sleeper);

asmlinkage long jump_bed(struct sleeper *sleeper)
{
	atomic_inc(&asleep);
	wait_for_completion_state(&sleeper->morning, TASK_IDLE);
	atomic_inc(&awake);
	return sleeper->number + 5;
}

static int sleep(void *data)
{
	struct sleeper *sleeper = data;

	sleeper->result = jump_sleeper(sleeper);
	return 0;
}

static int before(struct kprobe *kp, struct pt_regs *regs)
{
	if (came_by_jump(regs))
		atomic_inc(&by_jump);
	return 0;
}

static void after(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe probe, other;

/* Waits for a jump, and says where it leads; or for there to be none. */
static const u8 *comes(void)
{
	storm_wait_for(arch_jump_at(site), 60);
	return arch_jump_at(site);
}

static int place_other(const u8 *at, bool after_it)
{
	other = (struct kprobe) {
		.addr = (void *)at, .pre_handler = before,
		.post_handler = after_it ? after : NULL,
	};
	return register_kprobe(&other);
}

/* Files of debugfs are for programs only. */
static int say(const char *file, bool on)
{
	char line[80];
	char *call[4] = { "/bin/sh", "-c", line, NULL };
	char *variables[2] = { "PATH=/bin", NULL };

	snprintf(line, sizeof(line), "echo %d >%s", on, file);
	return call_usermodehelper(call[0], call, variables, UMH_WAIT_PROC);
}

/* Each way for a jump to go, and what lets it come back. */
static int by_post(bool go)
{
	if (go)
		return place_other(site, true);
	unregister_kprobe(&other);
	return 0;
}

static int by_neighbour(bool go)
{
	if (go)
		return place_other(site + 4, false);
	unregister_kprobe(&other);
	return 0;
}

static int by_disabling(bool go)
{
	return go ? disable_kprobe(&probe) : enable_kprobe(&probe);
}

static int by_sysctl(bool go)
{
	return say("/proc/sys/debug/kprobes-optimization", !go);
}

static int by_debugfs(bool go)
{
	return say("/sys/kernel/debug/kprobes/enabled", !go);
}

static const struct {
	const char *name;
	int (*turn)(bool go);
} ways[] = {
	{ "post handler", by_post }, { "neighbour", by_neighbour },
	{ "disabled", by_disabling }, { "sysctl", by_sysctl },
	{ "debugfs", by_debugfs },
};

struct night {
	struct sleeper *all;
	int count;
	int woken;
};

/* Wakes some more; each must come back as it should. */
static int wake(struct night *night, int count)
{
	int n, wrong = 0;

	count = min(count, night->count - night->woken);
	for (n = night->woken; n < night->woken + count; n++)
		complete(&night->all[n].morning);
	for (n = night->woken; n < night->woken + count; n++) {
		struct sleeper *sleeper = &night->all[n];

		kthread_stop_put(sleeper->task);
		wrong += sleeper->result != sleeper->number + 5;
	}
	night->woken += count;
	if (!wrong && atomic_read(&awake) == night->woken)
		return 0;
	pr_err("sleepers: %d of %d came back wrongly, %d awake of %d\n", wrong,
	       count, atomic_read(&awake), night->woken);
	return -EIO;
}

static int all_go_to_bed(struct night *night, int count)
{
	int n;

	for (n = 0; n < count; n++) {
		struct sleeper *sleeper = &night->all[n];

		init_completion(&sleeper->morning);
		sleeper->number = 1000 * n;
		sleeper->task = storm_thread(sleep, sleeper, "sleeper", n);
		if (IS_ERR(sleeper->task))
			break;
		night->count++;
	}
	storm_wait_for(atomic_read(&asleep) >= night->count, 120);
	pr_info("sleepers: %d tasks asleep, of which %d came by the jump\n",
		atomic_read(&asleep), atomic_read(&by_jump));
	return night->count == count && atomic_read(&asleep) == count &&
	       atomic_read(&by_jump) == count ? 0 : -EIO;
}

static int go_each_way(struct night *night)
{
	int n, err = 0;

	for (n = 0; n < ARRAY_SIZE(ways) && !err; n++) {
		const bool was_there = comes();

		err = ways[n].turn(true);
		if (err || !was_there || arch_jump_at(site)) {
			pr_err("sleepers: %s: %d, a jump before: %d, after: %d\n",
			       ways[n].name, err, was_there, !!arch_jump_at(site));
			return err ?: -EIO;
		}
		err = wake(night, night->count / 16) ?: ways[n].turn(false);
		if (!err && !comes()) {
			pr_err("sleepers: %s: no jump came back\n",
			       ways[n].name);
			err = -EIO;
		}
		err = err ?: wake(night, night->count / 16);
	}
	return err;
}

struct row {
	struct kprobe probes[JUMP_ROW];
	struct kprobe *batch[JUMP_ROW];
};

static const u8 *in_row(int number)
{
	return jump_row + ARCH_MARK + number * JUMP_ROW_BYTES;
}

static int register_row(struct row *row)
{
	int n;

	for (n = 0; n < JUMP_ROW; n++) {
		row->probes[n] = (struct kprobe) {
			.addr = (void *)in_row(n), .pre_handler = before,
		};
		row->batch[n] = &row->probes[n];
	}
	return register_kprobes(row->batch, JUMP_ROW);
}

/* Waits for the jumps of a row: the last one is written with the others. */
static bool row_has_jumps(void)
{
	return !storm_wait_for(arch_jump_at(in_row(JUMP_ROW - 1)), 60);
}

/* Is any of their detours where the old one was? */
static bool is_reused(const u8 *detour)
{
	int n;

	for (n = 0; n < JUMP_ROW; n++)
		if (arch_jump_at(in_row(n)) == detour)
			return true;
	return false;
}

static bool is_restless;

/* Does not sleep: for all that is known it may be in any detour. */
static int stay_awake(void *unused)
{
	unsigned long end = jiffies + 40 * HZ;

	WRITE_ONCE(is_restless, true);
	while (!kthread_should_stop() && time_before(jiffies, end))
		cpu_relax();
	WRITE_ONCE(is_restless, false);
	while (!kthread_should_stop())
		storm_sleep(20);
	return 0;
}

static struct task_struct *somebody_restless(void)
{
	struct task_struct *task = kthread_run(stay_awake, NULL, "restless");

	while (!IS_ERR(task) && !READ_ONCE(is_restless))
		storm_sleep(20);
	return task;
}

/*
 * The probe goes. As long as somebody may be in its detour the memory is nobody
 * else's; and while the optimizer waits for that one, others register.
 */
static int go(struct row *row, const u8 *detour)
{
	struct task_struct *restless = somebody_restless();
	bool all_jump, reused, waited;
	int err;

	unregister_kprobe(&probe);
	if (IS_ERR(restless))
		return PTR_ERR(restless);
	err = register_row(row);
	/* More than the optimizer waits to begin. */
	storm_sleep(100);
	if (!place_other(site, true))
		unregister_kprobe(&other);
	waited = !READ_ONCE(is_restless);
	kthread_stop(restless);
	if (err)
		return err;
	all_jump = row_has_jumps();
	reused = is_reused(detour);
	unregister_kprobes(row->batch, JUMP_ROW);
	if (all_jump && !reused && !waited)
		return 0;
	if (!all_jump)
		pr_err("sleepers: no jumps came once all had slept\n");
	if (reused)
		pr_err("sleepers: the detour's memory was another one's though a task had not slept\n");
	if (waited)
		pr_err("sleepers: who registers had to wait for a task to sleep\n");
	return -EIO;
}

/* Who waits for all tasks must not wait for those who sleep. */
static int reuse(struct row *row, const u8 *detour)
{
	unsigned long end = jiffies + 60 * HZ;
	bool reused = false;
	int err, tries = 0;

	do {
		err = register_row(row);
		if (err)
			break;
		row_has_jumps();
		reused = is_reused(detour);
		unregister_kprobes(row->batch, JUMP_ROW);
		tries++;
	} while (!reused && time_before(jiffies, end));
	pr_info("sleepers: the detour's memory is %s, after %d tries\n",
		reused ? "that of another one" : "NOT USED AGAIN", tries);
	return err ?: reused ? 0 : -EIO;
}

static int sleepers(unsigned int count, bool unused)
{
	struct row *row = kvzalloc(sizeof(*row), GFP_KERNEL);
	struct night night = {};
	const u8 *detour;
	int err = -ENOMEM;

	night.all = kvcalloc(count, sizeof(*night.all), GFP_KERNEL);
	if (!night.all || !row)
		goto free;
	atomic_set(&asleep, 0);
	atomic_set(&awake, 0);
	atomic_set(&by_jump, 0);
	probe = (struct kprobe) {
		.addr = (void *)site, .pre_handler = before,
	};
	err = register_kprobe(&probe);
	if (err)
		goto free;
	detour = comes();
	err = detour ? all_go_to_bed(&night, count) : -EIO;
	err = err ?: go_each_way(&night);
	/* C lets nobody register while it waits. */
	if (!err && IS_ENABLED(CONFIG_RUST_KPROBES) &&
	    IS_ENABLED(CONFIG_TASKS_RCU))
		err = go(row, detour);
	else
		unregister_kprobe(&probe);
	err = err ?: wake(&night, count / 16);
	err = err ?: reuse(row, detour);
	/* All of them, whatever there was. */
	err = wake(&night, count) ?: err;
	pr_info("sleepers: %d of %u have come back\n", night.woken, count);
free:
	kvfree(row);
	kvfree(night.all);
	return err ?: night.woken == count ? 0 : -EIO;
}

/* It compares nothing, so nothing is to be learned before. */
static struct storm_kind of_sleepers = {
	.rage = sleepers, .begin = jump_text_begin, .end = jump_text_end
};
module_param_cb(sleepers, &storm_ops, &of_sleepers, 0200);
