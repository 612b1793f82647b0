// SPDX-License-Identifier: GPL-2.0
/*
 * Those who put return probes on functions and take them away: alone and in
 * batches, several on a function, with and without entry handlers, with little
 * room and with more, enabling and disabling them in between. Each calls the
 * functions himself now and then, and counts what is seen of these calls.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include "returns.h"

#define BATCH	8

struct client {
	struct kretprobe rp;
	enum return_number number;
	struct walk walk;	/* of who registers it */
	bool live;		/* may be called */
	bool refuses;		/* some of the calls */
	/* Of the owner's calls. */
	int wanted, unwanted, returned;
};

static struct client clients[RETURN_CHURNERS][BATCH];
bool return_strict;

static struct client *client_of(struct kretprobe_instance *ri)
{
	struct client *client = container_of(get_kretprobe(ri), struct client,
					     rp);

	if (!READ_ONCE(client->live))
		atomic_long_inc(&return_counts.late);
	return client;
}

/* What is kept of a call ends with where it is. */
static unsigned long *last_of(struct client *client,
			      struct kretprobe_instance *ri)
{
	return (unsigned long *)(ri->data + client->rp.data_size) - 1;
}

static int entered(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct client *client = client_of(ri);
	struct return_call *call = (struct return_call *)ri->data;
	bool is_mine = regs_get_kernel_argument(regs, 0) == (unsigned long)&client->walk;
	bool is_wanted = !client->refuses || regs_get_kernel_argument(regs, 1) % 4;

	return_note(call, regs, client);
	*last_of(client, ri) = (unsigned long)ri;
	/* Others come at the same time: they write nothing. */
	if (is_mine && is_wanted)
		client->wanted++;
	else if (is_mine)
		client->unwanted++;
	return !is_wanted;
}

static int returned(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct client *client = client_of(ri);
	struct return_call *call = (struct return_call *)ri->data;

	if (!client->rp.entry_handler)
		return 0;
	if (*last_of(client, ri) != (unsigned long)ri)
		atomic_long_inc(&return_counts.mixed_up);
	else if (return_is_as_noted(call, client->number, regs, client) &&
		 call->walk == &client->walk)
		client->returned++;
	return 0;
}

static void ready(struct client *client, struct rnd_state *random)
{
	u32 bits = prandom_u32_state(random);

	memset(client, 0, sizeof(*client));
	client->number = bits % RETURNS;
	client->rp.kp.addr = (kprobe_opcode_t *)
		return_targets[client->number].function;
	bits >>= 8;
	if (bits & 7)
		client->rp.handler = returned;
	if (bits & 0x18) {
		client->rp.entry_handler = entered;
		client->rp.data_size = sizeof(struct return_call) +
				       8 * (1 + (bits >> 16) % 40);
	}
	client->refuses = bits & 0x20;
	/* Less than there will be calls, or what is usual. */
	client->rp.maxactive = bits & 0x40 ? 1 + (bits >> 7) % 4 : 0;
	if (!(bits & 0x600))
		client->rp.kp.flags = KPROBE_FLAG_DISABLED;
	WRITE_ONCE(client->live, true);
}

static long missed_of(struct client *client)
{
	return READ_ONCE(client->rp.nmissed) +
	       READ_ONCE(client->rp.kp.nmissed);
}

#define CALLS	4

/*
 * Calls of our own are seen, or are among those that were missed; what was
 * wanted of them returns. Others may call meanwhile, and miss, too.
 */
static void count_calls(struct client *client)
{
	bool off = kprobe_disabled(&client->rp.kp), right;
	long before = missed_of(client), missed;
	int n;

	client->wanted = 0;
	client->unwanted = 0;
	client->returned = 0;
	client->walk.end = WALK_BACK;
	client->walk.depth = 0;
	for (n = 0; n < CALLS; n++)
		return_call(client->number, &client->walk, n);
	if (!client->rp.entry_handler)
		return;
	missed = missed_of(client) - before;
	right = client->returned == (client->rp.handler ? client->wanted : 0);
	if (off)
		right &= !client->wanted && !client->unwanted;
	else if (READ_ONCE(return_strict))
		right &= client->wanted + client->unwanted + missed >= CALLS &&
			 client->wanted + client->unwanted <= CALLS;
	if (right)
		return;
	if (atomic_long_inc_return(&return_counts.miscounted) < 10)
		pr_err("%s%s: of %d calls %d are wanted, %d not, %d returned, %ld missed\n",
		       return_targets[client->number].name,
		       off ? ", disabled" : "", CALLS, client->wanted,
		       client->unwanted, client->returned, missed);
}

/* What may be done to a registered probe is done to it. */
static void use(struct client *client, struct rnd_state *random)
{
	int times = prandom_u32_state(random) % 4;

	count_calls(client);
	while (times-- > 0) {
		u32 bits = prandom_u32_state(random);

		if (bits & 1)
			disable_kretprobe(&client->rp);
		else
			enable_kretprobe(&client->rp);
#ifdef CONFIG_RUST_KPROBES
		if (!(bits & 0x70) &&
		    kretprobe_reserve(&client->rp, bits >> 16 & 0x1ff))
			atomic_long_inc(&return_counts.refused);
#endif
		if (bits & 2)
			storm_sleep(bits & 4 ? 50 : 5);
		count_calls(client);
	}
}

static void unregister(struct kretprobe **batch, int count, bool one_by_one)
{
	int n;

	if (!one_by_one) {
		unregister_kretprobes(batch, count);
		return;
	}
	for (n = 0; n < count; n++)
		unregister_kretprobe(batch[n]);
}

static void round_of(struct client *all, int count, struct rnd_state *random)
{
	struct kretprobe *batch[BATCH];
	int n, err;

	for (n = 0; n < count; n++) {
		ready(&all[n], random);
		batch[n] = &all[n].rp;
	}
	err = count == 1 ? register_kretprobe(batch[0]) :
			   register_kretprobes(batch, count);
	if (err) {
		if (atomic_long_inc_return(&return_counts.refused) < 10)
			pr_err("%d return probes: %d\n", count, err);
		return;
	}
	for (n = 0; n < count; n++)
		use(&all[n], random);
	unregister(batch, count, prandom_u32_state(random) % 4 == 0);
	/* Who still calls is late. */
	for (n = 0; n < count; n++) {
		WRITE_ONCE(all[n].live, false);
		atomic_long_add(all[n].rp.nmissed, &return_counts.lost);
	}
	atomic_long_inc(&return_counts.rounds);
}

int return_churner(long number)
{
	struct client *all = clients[number];
	struct rnd_state random;

	prandom_seed_state(&random, 0x72657475 + number);
	while (!READ_ONCE(storm_over)) {
		u32 count = prandom_u32_state(&random) % BATCH + 1;

		/* One of them does not batch. */
		round_of(all, number ? count : 1, &random);
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}
