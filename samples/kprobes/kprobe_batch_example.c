// SPDX-License-Identifier: GPL-2.0
/*
 * Probes on several functions, registered by one call and armed later, and an
 * account of every hit.
 *
 *	insmod kprobe_batch_example.ko symbols=kernel_clone,vfs_read
 *	echo 1 >/sys/module/kprobe_batch_example/parameters/armed
 *	rmmod kprobe_batch_example
 *
 * A probe that is hit while a handler runs is missed: the CPU goes on without
 * calling anybody, and nmissed says so. To show it, each handler here calls a
 * function of this module that has a probe as well, so that all of its hits
 * are missed. With CONFIG_RUST_KPROBES not one of them is lost; the C
 * implementation counts without atomics, and may lose some on several CPUs.
 *
 * With peek=1 each handler tries to read where there is nothing. The exception
 * table knows of that, so the handler gets an error and goes on; with
 * CONFIG_RUST_KPROBES its probe's fault handler is told of it before.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/uaccess.h>

#define MOST	16

struct account {
	struct kprobe kp;
	atomic_long_t hits;
	atomic_long_t faults;
};

static char *symbols[MOST] = { "kernel_clone", "vfs_read" };
static int count = 2;
module_param_array(symbols, charp, &count, 0444);
MODULE_PARM_DESC(symbols, "Functions to probe, up to 16");

static bool peek;
module_param(peek, bool, 0444);
MODULE_PARM_DESC(peek, "Have the handlers read where there is nothing");

static struct account accounts[MOST];
static struct account inner;
static struct kprobe *batch[MOST + 1];

/* Are the probes registered; are they to be armed? */
static bool registered, armed;
static DEFINE_MUTEX(lock);

/* Its probe is a breakpoint: calls of ftrace do not nest. */
static noinline notrace void called_by_handlers(void)
{
	barrier();
}

static int count_hit(struct kprobe *kp, struct pt_regs *regs)
{
	struct account *account = container_of(kp, struct account, kp);
	long word;

	atomic_long_inc(&account->hits);
	called_by_handlers();
	if (peek)
		copy_from_kernel_nofault(&word, ERR_PTR(-PAGE_SIZE), sizeof(word));
	return 0;
}
NOKPROBE_SYMBOL(count_hit);

#ifdef CONFIG_RUST_KPROBES
/* A fault of count_hit() or of the probed instruction. */
static int count_fault(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	struct account *account = container_of(kp, struct account, kp);

	atomic_long_inc(&account->faults);
	/* Nothing was done about it: that is the kernel's business. */
	return 0;
}
NOKPROBE_SYMBOL(count_fault);
#endif

static void prepare(struct account *account, const char *symbol)
{
	account->kp.symbol_name = symbol;
	account->kp.pre_handler = count_hit;
#ifdef CONFIG_RUST_KPROBES
	account->kp.fault_handler = count_fault;
#endif
	/* Registered with all its costs, but its function runs as before. */
	account->kp.flags = KPROBE_FLAG_DISABLED;
}

/* The inner probe is the first to come, so that it sees all handlers. */
static int arm(void)
{
	int n, err = 0;

	for (n = 0; n <= count && !err; n++)
		err = enable_kprobe(batch[n]);
	return err;
}

static void disarm(void)
{
	int n;

	for (n = count; n >= 0; n--)
		disable_kprobe(batch[n]);
}

static int set_armed(const char *val, const struct kernel_param *param)
{
	bool want;
	int err = kstrtobool(val, &want);

	if (err)
		return err;
	guard(mutex)(&lock);
	if (registered && want != armed) {
		if (want)
			err = arm();
		if (err || !want)
			disarm();
		if (err)
			return err;
		pr_info("%s\n", want ? "armed" : "disarmed");
	}
	armed = want;
	return 0;
}

static const struct kernel_param_ops armed_ops = {
	.set = set_armed,
	.get = param_get_bool,
};

module_param_cb(armed, &armed_ops, &armed, 0644);
__MODULE_PARM_TYPE(armed, "bool");
MODULE_PARM_DESC(armed, "Switch all probes on or off, at any time");

static int __init batch_init(void)
{
	ktime_t begun = ktime_get();
	int n, err;

	prepare(&inner, "called_by_handlers");
	batch[0] = &inner.kp;
	for (n = 0; n < count; n++) {
		prepare(&accounts[n], symbols[n]);
		batch[n + 1] = &accounts[n].kp;
	}
	/* All of them, or none. */
	err = register_kprobes(batch, count + 1);
	if (err) {
		pr_err("not registered, error %d\n", err);
		return err;
	}
	pr_info("%d probes registered at once, in %lld us, none armed yet\n",
		count + 1, ktime_us_delta(ktime_get(), begun));

	guard(mutex)(&lock);
	if (armed) {
		err = arm();
		if (err) {
			unregister_kprobes(batch, count + 1);
			return err;
		}
		pr_info("armed\n");
	}
	registered = true;
	return 0;
}

static void __exit batch_exit(void)
{
	long calls = 0;
	int n;

	guard(mutex)(&lock);
	registered = false;
	/* The inner probe last: no handler runs any more when it goes. */
	unregister_kprobes(batch + 1, count);
	unregister_kprobe(batch[0]);

	for (n = 0; n < count; n++) {
		struct account *account = &accounts[n];
		long hits = atomic_long_read(&account->hits);

		calls += hits;
		pr_info("%s: %ld hits, %lu missed, %ld faults\n", symbols[n],
			hits, account->kp.nmissed,
			atomic_long_read(&account->faults));
	}
	pr_info("handlers made %ld calls to a probed function, %lu missed\n",
		calls, inner.kp.nmissed);
}

module_init(batch_init)
module_exit(batch_exit)
MODULE_DESCRIPTION("Probes registered at once, and an account of their hits");
MODULE_LICENSE("GPL");
