// SPDX-License-Identifier: GPL-2.0
/*
 * Return probes on functions of the kernel's that processes go through as they
 * come and go: from one of them nobody ever returns.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "returns.h"

struct watcher {
	struct kretprobe rp;
	bool returns;
	atomic_long_t accepted, returned;
};

static struct watcher watchers[] = {
	{ .rp.kp.symbol_name = "kernel_clone", .returns = true },
	{ .rp.kp.symbol_name = "do_exit" },
};

static struct watcher *watcher_of(struct kretprobe_instance *ri)
{
	return container_of(get_kretprobe(ri), struct watcher, rp);
}

static int entered(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	atomic_long_inc(&watcher_of(ri)->accepted);
	return 0;
}

static int returned(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	atomic_long_inc(&watcher_of(ri)->returned);
	return 0;
}

static void let_go(unsigned int count)
{
	while (count--)
		unregister_kretprobe(&watchers[count].rp);
}

int return_watch_kernel(void)
{
	unsigned int n;
	int err;

	for (n = 0; n < ARRAY_SIZE(watchers); n++) {
		struct watcher *watcher = &watchers[n];

		watcher->rp.kp.addr = NULL;
		watcher->rp.kp.flags = 0;
		watcher->rp.kp.nmissed = 0;
		watcher->rp.handler = returned;
		watcher->rp.entry_handler = entered;
		watcher->rp.maxactive = 256;
		atomic_long_set(&watcher->accepted, 0);
		atomic_long_set(&watcher->returned, 0);
		err = register_kretprobe(&watcher->rp);
		if (err) {
			pr_err("%s: %d\n", watcher->rp.kp.symbol_name, err);
			let_go(n);
			return err;
		}
	}
	return 0;
}

/* Some may still be on their way. */
static bool is_even(struct watcher *watcher)
{
	unsigned long end = jiffies + 30 * HZ;
	long open;

	do {
		long returned = atomic_long_read_acquire(&watcher->returned);
		long accepted = atomic_long_read(&watcher->accepted);

		open = accepted - returned;
		if (!watcher->returns)
			return accepted && !returned;
		if (accepted && !open)
			return true;
		storm_sleep(20);
	} while (time_before(jiffies, end));
	return false;
}

int return_unwatch_kernel(void)
{
	unsigned int n;
	int err = 0;

	for (n = 0; n < ARRAY_SIZE(watchers); n++) {
		struct watcher *watcher = &watchers[n];
		bool even = is_even(watcher);

		pr_info("%s: %ld calls, %ld returned, %d without room%s\n",
			watcher->rp.kp.symbol_name,
			atomic_long_read(&watcher->accepted),
			atomic_long_read(&watcher->returned),
			watcher->rp.nmissed, even ? "" : ": NOT EQUAL");
		err = even ? err : -EIO;
	}
	let_go(ARRAY_SIZE(watchers));
	return err;
}
