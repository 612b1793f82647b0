// SPDX-License-Identifier: GPL-2.0
/*
 * What Rust cannot emit for return probes: exports, the sysctl, work, and
 * inline functions of C. Messages have the name that they have in C.
 */
#define pr_fmt(fmt) "rethook: " fmt

#include <linux/bug.h>
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/sysctl.h>
#include <linux/workqueue.h>
#include <kunit/visibility.h>

#include "../glue.h"

/* What return probes have in store; see mod.rs. */
DEFINE_MUTEX(rust_kprobes_returns_mutex);

/* A call that nobody knows has returned to the trampoline. */
void __kprobes rust_kprobes_nowhere_to_return(void)
{
	pr_err("rethook: Return address not found! Maybe there is a bug in the kernel\n");
	/* There is nothing to go on with; as in C. */
	BUG();
}

/* A call is over before one that it has made. */
void __kprobes rust_kprobes_foreign_frame(void)
{
	WARN_ON_ONCE(1);
}

/* Its calls come and go meanwhile. */
bool __kprobes rust_kprobes_runs_elsewhere(const struct task_struct *task)
{
	return task != current && task_is_running(task);
}

/* How many numbers they have, how many there may be, and how many there are. */
void __kprobes rust_kprobes_cpus(size_t counts[3])
{
	counts[0] = nr_cpu_ids;
	counts[1] = num_possible_cpus();
	counts[2] = num_online_cpus();
}

static void __kprobes tend(struct work_struct *unused)
{
	rust_kprobes_tend();
}

static DECLARE_WORK(tending, tend);

static void __kprobes queue_tending(struct irq_work *unused)
{
	queue_work(system_long_wq, &tending);
}

static DEFINE_IRQ_WORK(asking, queue_tending);

/* A hit may be an NMI's, or in the middle of anything. */
void __kprobes rust_kprobes_ask_to_tend(void)
{
	irq_work_queue(&asking);
}

#ifdef CONFIG_SYSCTL
static int growth_limit, most_calls = RUST_KPROBES_MOST_CALLS;
static DEFINE_MUTEX(growth_limit_mutex);

static int __kprobes set_growth_limit(const struct ctl_table *table, int write,
				      void *buffer, size_t *length,
				      loff_t *ppos)
{
	int ret;

	guard(mutex)(&growth_limit_mutex);
	growth_limit = rust_kprobes_growth_limit();
	ret = proc_dointvec_minmax(table, write, buffer, length, ppos);
	if (!ret && write)
		rust_kprobes_limit_growth(growth_limit);
	return ret;
}

static const struct ctl_table sysctls[] = {
	{
		.procname	= "kretprobes-growth-limit",
		.data		= &growth_limit,
		.maxlen		= sizeof(growth_limit),
		.mode		= 0644,
		.proc_handler	= set_growth_limit,
		.extra1		= SYSCTL_ZERO,
		.extra2		= &most_calls,
	},
};

static int __init register_sysctls(void)
{
	register_sysctl_init("debug", sysctls);
	return 0;
}
late_initcall(register_sysctls);
#endif

/* What abi.rs defines. */
EXPORT_SYMBOL_GPL(kretprobe_reserve);
/* For our tests alone. */
EXPORT_SYMBOL_IF_KUNIT(rust_kprobes_return_pools);
EXPORT_SYMBOL_IF_KUNIT(rust_kprobes_return_calls);
