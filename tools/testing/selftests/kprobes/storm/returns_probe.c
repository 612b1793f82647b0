// SPDX-License-Identifier: GPL-2.0
/*
 * Return probes that stay as long as the storm, and give an account of each
 * call: it was seen, or counted as missed; and what was seen and wanted has
 * returned, or is in a task that died of it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/sched.h>
#include "returns.h"

/* There is room for all; for one, at first; it does not look at entries. */
enum { ROOMY, TIGHT, BARE, KINDS };

static const char *const kinds[KINDS] = { "roomy", "tight", "bare" };

struct watcher {
	struct kretprobe rp;
	enum return_number number;
	int kind;
	atomic_long_t accepted, unwanted, dying, returned;
};

static struct watcher watchers[RETURNS][KINDS];

/* More than can be under way at once. */
#define ROOM	(12 * RETURN_CROWD)

void return_note(struct return_call *call, struct pt_regs *regs,
		 const void *owner)
{
	call->walk = (struct walk *)regs_get_kernel_argument(regs, 0);
	call->value = regs_get_kernel_argument(regs, 1);
	call->left = regs_get_kernel_argument(regs, 2);
	call->owner = owner;
}

bool return_is_as_noted(const struct return_call *call,
			enum return_number number, const struct pt_regs *regs,
			const void *owner)
{
	if (call->owner != owner) {
		if (atomic_long_inc_return(&return_counts.mixed_up) < 10)
			pr_err("a call of %s is another one's\n",
			       return_targets[number].name);
		return false;
	}
	if (regs_return_value((struct pt_regs *)regs) ==
	    return_result(number, call->value, call->left))
		return true;
	if (atomic_long_inc_return(&return_counts.wrong) < 10)
		pr_err("%s(%ld) is seen to return %ld\n",
		       return_targets[number].name, call->value,
		       regs_return_value((struct pt_regs *)regs));
	return false;
}

static struct watcher *watcher_of(struct kretprobe_instance *ri)
{
	return container_of(get_kretprobe(ri), struct watcher, rp);
}

/* Of so many calls one has the stack looked at. */
#define SELDOM	64

/*
 * A trap tells of the byte behind its own. Where an instruction has one byte, as
 * some that push have, that is the next one, by which the stack is unwound then:
 * that goes astray, whoever has the probe.
 */
static bool is_astray(const struct kprobe *kp, const struct pt_regs *regs)
{
	return (kp->opcode & 0xf8) == 0x50 && !came_by_jump(regs);
}

static int entered(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct watcher *watcher = watcher_of(ri);
	struct return_call *call = (struct return_call *)ri->data;

	return_note(call, regs, watcher);
	if ((call->value + watcher->kind) % 8 == 0) {
		atomic_long_inc(&watcher->unwanted);
		return 1;
	}
	if (call->walk->end == WALK_EXIT)
		atomic_long_inc(&watcher->dying);
	if (atomic_long_inc_return(&watcher->accepted) % SELDOM == 0 &&
	    !is_astray(&watcher->rp.kp, regs))
		return_look_from_handler(call, watcher->number, true);
	return 0;
}

static struct walk from_handler;

/* Now and then another one is hit in here, which is to be missed. */
static int returned(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct watcher *watcher = watcher_of(ri);
	struct return_call *call = (struct return_call *)ri->data;
	long times = atomic_long_inc_return(&watcher->returned);

	if (watcher->kind == BARE)
		return 0;
	if (return_is_as_noted(call, watcher->number, regs, watcher) &&
	    times % SELDOM == 0)
		return_look_from_handler(call, watcher->number, false);
	if (times % 16 == 0 && watcher->number != RETURN_LEAF)
		return_call(RETURN_LEAF, &from_handler, times);
	return 0;
}

/* A probe that sees no entries cannot tell who died from who was missed. */
static bool is_one(const struct watcher *watcher)
{
	return watcher->kind != BARE || watcher->number < RETURN_RECURSE;
}

static void ready(struct watcher *watcher)
{
	memset(watcher, 0, sizeof(*watcher));
	watcher->number = (watcher - &watchers[0][0]) / KINDS;
	watcher->kind = (watcher - &watchers[0][0]) % KINDS;
	watcher->rp.kp.addr = (kprobe_opcode_t *)
		return_targets[watcher->number].function;
	watcher->rp.handler = returned;
	if (watcher->kind == TIGHT)
		watcher->rp.maxactive = 1;
	if (watcher->kind != BARE) {
		watcher->rp.entry_handler = entered;
		watcher->rp.data_size = sizeof(struct return_call);
	}
	if (watcher->kind == ROOMY && !IS_ENABLED(CONFIG_RUST_KPROBES))
		watcher->rp.maxactive = ROOM;
}

static int reserve(struct kretprobe *rp)
{
#ifdef CONFIG_RUST_KPROBES
	return kretprobe_reserve(rp, ROOM);
#else
	return 0;
#endif
}

/* Those that there are. */
static struct kretprobe *batch[RETURNS * KINDS];
static int batched;

static struct watcher *watcher_at(int n)
{
	return container_of(batch[n], struct watcher, rp);
}

int return_watch(void)
{
	int n, err;

	batched = 0;
	for (n = 0; n < RETURNS * KINDS; n++) {
		struct watcher *watcher = &watchers[n / KINDS][n % KINDS];

		ready(watcher);
		if (is_one(watcher))
			batch[batched++] = &watcher->rp;
	}
	for (n = 0; n < RETURNS; n++)
		atomic_long_set(&return_targets[n].calls, 0);
	err = register_kretprobes(batch, batched);
	if (err) {
		pr_err("no probes that stay: %d\n", err);
		return err;
	}
	for (n = 0; n < batched && !err; n++)
		if (watcher_at(n)->kind == ROOMY)
			err = reserve(batch[n]);
	if (err)
		unregister_kretprobes(batch, batched);
	return err;
}

/* Calls under way that the roomy ones watch. */
long return_open(void)
{
	long open = 0;
	int n;

	for (n = RETURN_RECURSE; n < RETURNS; n++) {
		struct watcher *watcher = &watchers[n][ROOMY];

		open += atomic_long_read(&watcher->accepted) -
			atomic_long_read(&watcher->dying) -
			atomic_long_read(&watcher->returned);
	}
	return open;
}

/* In the order in which they come to be, backwards: so none is too large. */
static void weigh_meanwhile(struct watcher *watcher)
{
	long returned = atomic_long_read_acquire(&watcher->returned);
	long accepted = atomic_long_read_acquire(&watcher->accepted);
	long unwanted = atomic_long_read_acquire(&watcher->unwanted);
	long missed = READ_ONCE(watcher->rp.nmissed) +
		      READ_ONCE(watcher->rp.kp.nmissed);
	long seen = watcher->kind == BARE ? returned : accepted + unwanted;
	long calls;

	/* What was missed came after the call. */
	smp_rmb();
	calls = atomic_long_read(&return_targets[watcher->number].calls);
	if ((watcher->kind == BARE || returned <= accepted) &&
	    seen + missed <= calls)
		return;
	if (atomic_long_inc_return(&return_counts.uneven) < 10)
		pr_err("%s: %ld calls, %ld wanted, %ld not, %ld missed, %ld have returned\n",
		       return_targets[watcher->number].name, calls, accepted,
		       unwanted, missed, returned);
}

void return_weigh_meanwhile(void)
{
	int n;

	for (n = 0; n < batched; n++)
		weigh_meanwhile(watcher_at(n));
}

/* Each call is accounted for, if nothing has kept the probe from being hit. */
static int weigh(struct watcher *watcher, bool strict)
{
	long calls = atomic_long_read(&return_targets[watcher->number].calls);
	long accepted = atomic_long_read(&watcher->accepted);
	long returned = atomic_long_read(&watcher->returned);
	long dying = atomic_long_read(&watcher->dying);
	long unwanted = atomic_long_read(&watcher->unwanted);
	long lost = watcher->rp.nmissed, missed = watcher->rp.kp.nmissed;
	long seen = watcher->kind == BARE ? returned : accepted + unwanted;
	bool even = watcher->kind == BARE || accepted == returned + dying;

	if (strict && calls != seen + lost + missed)
		even = false;
	if (IS_ENABLED(CONFIG_RUST_KPROBES) && watcher->kind == ROOMY && lost)
		even = false;
	atomic_long_add(lost, &return_counts.lost);
	pr_info("%-7s %-5s %8ld calls, %8ld wanted, %7ld not, %8ld returned, %6ld died, %6ld without room, %6ld missed%s\n",
		return_targets[watcher->number].name, kinds[watcher->kind],
		calls, accepted, unwanted, returned, dying, lost, missed,
		even ? "" : ": NOT EQUAL");
	return even ? 0 : -EIO;
}

int return_unwatch(bool strict)
{
	int n, err = 0;

	unregister_kretprobes(batch, batched);
	for (n = 0; n < batched; n++)
		err = weigh(watcher_at(n), strict) ?: err;
	return err;
}
