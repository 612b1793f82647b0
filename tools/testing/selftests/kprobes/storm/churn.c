// SPDX-License-Identifier: GPL-2.0
/*
 * Those who put probes on targets and take them away: alone and in batches,
 * with and without a post handler, enabling and disabling them in between.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include "storm.h"

#define BATCH	16

struct churned {
	struct kprobe kp;
	bool live;	/* may be called */
};

static struct churned churned[CHURNERS][BATCH];

static void check_live(struct kprobe *kp)
{
	if (!READ_ONCE(container_of(kp, struct churned, kp)->live))
		atomic_long_inc(&storm_counts.late);
	atomic_long_inc(&storm_counts.hits);
}

/*
 * Now and then a target is hit in here, which is to be missed. Not the one of
 * ftrace's: two of its users at one place keep such calls from all of them.
 */
static int before(struct kprobe *kp, struct pt_regs *regs)
{
	static atomic_t turn;
	unsigned int number = atomic_inc_return(&turn);

	check_live(kp);
	if (number % 16 == 0)
		storm_call(number / 16 % TARGET_TRACED, number);
	return 0;
}

static void after(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	check_live(kp);
}

static void ready(struct churned *probe, struct rnd_state *random)
{
	struct target *target =
		&storm_targets[prandom_u32_state(random) % TARGETS];
	u32 bits = prandom_u32_state(random);

	memset(&probe->kp, 0, sizeof(probe->kp));
	probe->kp.addr = (kprobe_opcode_t *)target->site;
	if (bits & 3)
		probe->kp.pre_handler = before;
	if (bits & 4)
		probe->kp.post_handler = after;
	if (!(bits & 24))
		probe->kp.flags = KPROBE_FLAG_DISABLED;
	WRITE_ONCE(probe->live, true);
}

/* What may be done to a registered probe is done to it. */
static void use(struct churned *probe, struct rnd_state *random)
{
	int times = prandom_u32_state(random) % 4;

	while (times-- > 0) {
		if (prandom_u32_state(random) & 1)
			disable_kprobe(&probe->kp);
		else
			enable_kprobe(&probe->kp);
	}
	if (prandom_u32_state(random) & 1)
		usleep_range(10, 1000);
}

static void round_of(struct churned *probes, int count,
		     struct rnd_state *random)
{
	struct kprobe *batch[BATCH];
	int n;

	for (n = 0; n < count; n++) {
		ready(&probes[n], random);
		batch[n] = &probes[n].kp;
	}
	if (register_kprobes(batch, count)) {
		atomic_long_inc(&storm_counts.refused);
		return;
	}
	for (n = 0; n < count; n++)
		use(&probes[n], random);
	if (prandom_u32_state(random) & 1) {
		/* In two parts, of which either may be empty. */
		n = prandom_u32_state(random) % (count + 1);
		unregister_kprobes(batch, n);
		unregister_kprobes(batch + n, count - n);
	} else {
		unregister_kprobes(batch, count);
	}
	/* Who still calls is late. */
	for (n = 0; n < count; n++)
		WRITE_ONCE(probes[n].live, false);
	atomic_long_inc(&storm_counts.rounds);
}

int storm_churner(void *number)
{
	struct churned *probes = churned[(long)number];
	struct rnd_state random;

	prandom_seed_state(&random, 0x6b707262 + (long)number);
	while (!READ_ONCE(storm_over)) {
		u32 count = prandom_u32_state(&random) % BATCH + 1;

		/* One of them does not batch. */
		round_of(probes, number ? count : 1, &random);
	}
	return 0;
}
