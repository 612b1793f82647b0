// SPDX-License-Identifier: GPL-2.0
/*
 * Return probes on functions of the kernel's that processes go through as they
 * come and go: from one of them nobody ever returns.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "returns.h"

static struct watcher {
	struct kretprobe rp;
	atomic_long_t accepted, returned;
} watchers[2];

/* Nobody returns from the second one. */
static const char *const names[] = { "kernel_clone", "do_exit" };
static struct kretprobe *batch[ARRAY_SIZE(names)];

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

int return_watch_kernel(void)
{
	int n, err;

	memset(watchers, 0, sizeof(watchers));
	for (n = 0; n < ARRAY_SIZE(names); n++) {
		watchers[n].rp = (struct kretprobe) {
			.kp.symbol_name = names[n], .maxactive = 256,
			.handler = returned, .entry_handler = entered,
		};
		batch[n] = &watchers[n].rp;
	}
	err = register_kretprobes(batch, ARRAY_SIZE(batch));
	if (err)
		pr_err("kernel_clone and do_exit: %d\n", err);
	return err;
}

/* Calls that have not returned. */
static long open_of(struct watcher *watcher)
{
	long returned = atomic_long_read_acquire(&watcher->returned);

	return atomic_long_read(&watcher->accepted) - returned;
}

static bool is_even(struct watcher *watcher)
{
	if (watcher != watchers)
		return atomic_long_read(&watcher->accepted) &&
		       !atomic_long_read(&watcher->returned);
	/* Some may still be on their way. */
	return !storm_wait_for(atomic_long_read(&watcher->accepted) &&
			       !open_of(watcher), 30);
}

int return_unwatch_kernel(void)
{
	int n, err = 0;

	for (n = 0; n < ARRAY_SIZE(names); n++) {
		struct watcher *watcher = &watchers[n];
		bool even = is_even(watcher);

		pr_info("%s: %ld calls, %ld returned, %d without room%s\n",
			names[n], atomic_long_read(&watcher->accepted),
			atomic_long_read(&watcher->returned),
			watcher->rp.nmissed, even ? "" : ": NOT EQUAL");
		err = even ? err : -EIO;
	}
	unregister_kretprobes(batch, ARRAY_SIZE(batch));
	return err;
}
