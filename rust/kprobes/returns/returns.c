// SPDX-License-Identifier: GPL-2.0
/*
 * The code for return probes that Rust cannot emit: exports, the sysctl, work,
 * and inline functions of C. Messages have the prefix that they have in C.
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

/* The lock of the pools; see pools.rs. */
DEFINE_MUTEX(rust_kprobes_returns_mutex);

/* The limit of a pool's automatic growth. */
int rust_kprobes_growth_limit = 4096;

/* Stops the kernel: no instance has the address to return to. */
void __kprobes rust_kprobes_no_return_address(void)
{
	pr_err("rethook: Return address not found! Maybe there is a bug in the kernel\n");
	/* As in C: no address to continue at is known. */
	BUG();
}

/* Warns once: a call has ended before a call that it has made. */
void __kprobes rust_kprobes_frame_mismatch(void)
{
	WARN_ON_ONCE(1);
}

/* The back end of x86 asks these two by one instruction each. */
int __kprobes rust_kprobes_this_cpu(void)
{
	return raw_smp_processor_id();
}

/* Returns the list of this task's hooked calls. */
const struct llist_head * __kprobes rust_kprobes_rethooks(void)
{
	return &current->rethooks;
}

/* Returns whether the task runs on another CPU, where its list may change. */
bool __kprobes rust_kprobes_runs_elsewhere(const struct task_struct *task)
{
	return task != current && task_is_running(task);
}

/* Returns the numbers of CPU ids, of possible CPUs, and of online CPUs. */
void __kprobes rust_kprobes_cpus(size_t counts[3])
{
	counts[0] = nr_cpu_ids;
	counts[1] = num_possible_cpus();
	counts[2] = num_online_cpus();
}

static void __kprobes pools_work_fn(struct work_struct *unused)
{
	rust_kprobes_service_pools();
}

static DECLARE_WORK(pools_work, pools_work_fn);

static void __kprobes queue_pools_work(struct irq_work *unused)
{
	queue_work(system_long_wq, &pools_work);
}

static DEFINE_IRQ_WORK(pools_irq_work, queue_pools_work);

/* May be called from an NMI, and with any lock held. */
void __kprobes rust_kprobes_queue_service(void)
{
	irq_work_queue(&pools_irq_work);
}

#ifdef CONFIG_SYSCTL
static int max_calls = RUST_KPROBES_MAX_CALLS;

static const struct ctl_table sysctls[] = {
	{
		.procname	= "kretprobes-growth-limit",
		.data		= &rust_kprobes_growth_limit,
		.maxlen		= sizeof(rust_kprobes_growth_limit),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= &max_calls,
	},
};

static int __init register_sysctls(void)
{
	register_sysctl_init("debug", sysctls);
	return 0;
}
late_initcall(register_sysctls);
#endif

EXPORT_FROM_RUST(kretprobe_reserve);
/* Only for tests. */
EXPORT_SYMBOL_IF_KUNIT(rust_kprobes_return_counts);
