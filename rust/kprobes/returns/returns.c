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

/* The lock of the pools; see pools.rs. */
DEFINE_MUTEX(rust_kprobes_returns_mutex);

/* How large a pool becomes by itself. */
int rust_kprobes_growth_limit = 4096;

/* A function has returned to the trampoline, and no instance is in the list. */
void __kprobes rust_kprobes_nowhere_to_return(void)
{
	pr_err("rethook: Return address not found! Maybe there is a bug in the kernel\n");
	/* As in C: there is no address to go on at. */
	BUG();
}

/* A call has ended before a call that it has made. */
void __kprobes rust_kprobes_foreign_frame(void)
{
	WARN_ON_ONCE(1);
}

/* Does the task run on another CPU, where its list of instances changes? */
bool __kprobes rust_kprobes_runs_elsewhere(const struct task_struct *task)
{
	return task != current && task_is_running(task);
}

/* The number of CPU ids, of possible CPUs, and of online CPUs. */
void __kprobes rust_kprobes_cpus(size_t counts[3])
{
	counts[0] = nr_cpu_ids;
	counts[1] = num_possible_cpus();
	counts[2] = num_online_cpus();
}

static void __kprobes refill(struct work_struct *unused)
{
	rust_kprobes_refill();
}

static DECLARE_WORK(refilling, refill);

static void __kprobes queue_refilling(struct irq_work *unused)
{
	queue_work(system_long_wq, &refilling);
}

static DEFINE_IRQ_WORK(refill_work, queue_refilling);

/* The caller may be an NMI, or hold any lock. */
void __kprobes rust_kprobes_queue_refill(void)
{
	irq_work_queue(&refill_work);
}

#ifdef CONFIG_SYSCTL
static int most_calls = RUST_KPROBES_MOST_CALLS;

static const struct ctl_table sysctls[] = {
	{
		.procname	= "kretprobes-growth-limit",
		.data		= &rust_kprobes_growth_limit,
		.maxlen		= sizeof(rust_kprobes_growth_limit),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
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

/* Functions of abi.rs. */
EXPORT_SYMBOL_GPL(kretprobe_reserve);
/* Only for tests. */
EXPORT_SYMBOL_IF_KUNIT(rust_kprobes_return_counts);
