// SPDX-License-Identifier: GPL-2.0
/*
 * Those who put probes on places of jumps, into what the jumps are over, before
 * and behind it, and take them away. Each calls the function itself now and
 * then, and counts the hits of these calls.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/prandom.h>
#include <linux/sched.h>
#include "jumps.h"

struct client {
	struct kprobe kp;
	struct jump_target *target;
	bool live;		/* may be called */
	long before, after;	/* of the calls of who registers it */
};

static struct client clients[JUMP_CHURNERS][JUMPS];

/*
 * Whether the call that hits is one of the client's own. Only these write to its
 * counts: in other calls, "+= is_mine()" would write back an old count, and undo
 * what the owner has counted meanwhile.
 */
static bool is_mine(const struct client *client, const struct pt_regs *regs)
{
	if (!READ_ONCE(client->live))
		atomic_long_inc(&jump_counts.late);
	return arch_client(regs) == (unsigned long)client;
}

static int before(struct kprobe *kp, struct pt_regs *regs)
{
	struct client *client = container_of(kp, struct client, kp);

	if (is_mine(client, regs))
		client->before++;
	if (kp->addr == (kprobe_opcode_t *)client->target->site)
		jump_count_hit(client->target, regs);
	return 0;
}

static void after(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	struct client *client = container_of(kp, struct client, kp);

	if (is_mine(client, regs))
		client->after++;
}

static void ready(struct client *client, struct jump_target *target,
		  const u8 *at, u32 bits)
{
	memset(&client->kp, 0, sizeof(client->kp));
	client->target = target;
	client->kp.addr = (kprobe_opcode_t *)at;
	client->kp.pre_handler = before;
	if (!(bits & 3))
		client->kp.post_handler = after;
	if (!(bits & 12))
		client->kp.flags = KPROBE_FLAG_DISABLED;
	WRITE_ONCE(client->live, true);
}

/* How often a call without carry comes to an address. */
static int times_at(const struct jump_target *target, const u8 *at)
{
	int n, times = 0;

	if (at < target->site)
		return 1;
	for (n = 0; n < JUMP_INSNS; n++)
		times += target->insns[0][n] == (unsigned long)at;
	return times;
}

#define CALLS	3

/* Calls of our own are hits, all of them or none. */
static void count_calls(struct client *client)
{
	int n, hits = times_at(client->target, (const u8 *)client->kp.addr);
	long right, before, after;

	client->before = 0;
	client->after = 0;
	for (n = 0; n < CALLS; n++)
		jump_call(client->target, (unsigned long)client, false);
	if (!READ_ONCE(jump_strict))
		return;
	before = client->before;
	after = client->after;
	right = kprobe_disabled(&client->kp) ? 0 : CALLS * hits;
	if (before == right && after == (client->kp.post_handler ? right : 0))
		return;
	if (atomic_long_inc_return(&jump_counts.miscounted) < 10)
		pr_err("%s+%ld: %ld and %ld hits in the place of %ld, %lu missed ever\n",
		       client->target->name,
		       (long)((const u8 *)client->kp.addr -
			      client->target->site), before, after, right,
		       client->kp.nmissed);
}

/* What may be done to a registered probe is done to it. */
static void use(struct client *client, struct rnd_state *random)
{
	int times = prandom_u32_state(random) % 4;

	count_calls(client);
	while (times-- > 0) {
		u32 bits = prandom_u32_state(random);

		if (bits & 1)
			disable_kprobe(&client->kp);
		else
			enable_kprobe(&client->kp);
		/* Long enough for a jump, or not. */
		if (bits & 2)
			jump_sleep(bits & 4 ? 100 : 2);
		count_calls(client);
	}
}

static void stay(struct rnd_state *random)
{
	u32 bits = prandom_u32_state(random);

	if (bits & 1)
		jump_sleep(bits & 2 ? 400 : 8);
	cond_resched_tasks_rcu_qs();
}

static void at_places(struct client *probes, int count,
		      struct rnd_state *random)
{
	int first = jump_wanted(prandom_u32_state(random));
	bool is_short = READ_ONCE(jump_is_short);
	struct kprobe *batch[JUMPS];
	int n;

	for (n = 0; n < count; n++) {
		struct jump_target *target = &jump_targets[(first + n) % JUMPS];

		/* The first probe may become a jump, where one is missing. */
		ready(&probes[n], target, target->site,
		      prandom_u32_state(random) | (is_short && !n ? 5 : 0));
		batch[n] = &probes[n].kp;
	}
	if (register_kprobes(batch, count)) {
		atomic_long_inc(&jump_counts.refused);
		return;
	}
	if (is_short)
		jump_sleep(400);
	for (n = 0; n < count; n++)
		use(&probes[n], random);
	stay(random);
	for (n = 0; n < count; n++)
		count_calls(&probes[n]);
	unregister_kprobes(batch, count);
	for (n = 0; n < count; n++)
		WRITE_ONCE(probes[n].live, false);
}

static bool is_start(const struct jump_target *target, const u8 *at)
{
	const unsigned long into = at - target->site;

	return at == target->site - ARCH_BEFORE ||
	       (into < JUMP_TEXT && target->text[into].original);
}

/* Before it, in what the jump is over, and behind that. */
static void near_places(struct client *probe, struct rnd_state *random)
{
	u32 bits = prandom_u32_state(random);
	struct jump_target *target = jump_random(bits);
	const u8 *at = target->site + (int)(bits >> 16) % 12 - ARCH_BEFORE;
	int err;

	if (at == target->site || (!target->straight && !is_start(target, at)))
		return;
	ready(probe, target, at, bits >> 8);
	err = register_kprobe(&probe->kp);
	if (is_start(target, at) ? err != 0 : err != -ARCH_INSIDE_ERRNO) {
		atomic_long_inc(&jump_counts.refused);
		pr_err("%s%+ld: %d\n", target->name, (long)(at - target->site),
		       err);
	}
	if (err)
		return;
	use(probe, random);
	stay(random);
	count_calls(probe);
	unregister_kprobe(&probe->kp);
	WRITE_ONCE(probe->live, false);
	if (bits & 0xc0)
		jump_sleep(bits & 0x40 ? 250 : 75);
}

int jump_churner(void *number)
{
	struct client *probes = clients[(long)number];
	struct rnd_state random;

	prandom_seed_state(&random, 0x6368726e + (long)number);
	while (!READ_ONCE(storm_over)) {
		u32 count = prandom_u32_state(&random) % JUMPS + 1;

		/* One of them batches, one is always at the places. */
		if ((long)number < 2)
			at_places(probes, number ? 1 : count, &random);
		else
			near_places(probes, &random);
		atomic_long_inc(&jump_counts.rounds);
	}
	return 0;
}
