/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface between returns.c and abi.rs for return probes.
 */
#ifndef _RUST_KPROBES_RETURNS_GLUE_H
#define _RUST_KPROBES_RETURNS_GLUE_H

#include <linux/kprobes.h>
#include <linux/mutex.h>

/* The most return instances of a probe, as in C. */
enum { RUST_KPROBES_MAX_CALLS = 1 << 24 };

extern struct mutex rust_kprobes_returns_mutex;
extern int rust_kprobes_growth_limit;

int rust_kprobes_function_entered(struct kprobe *p, struct pt_regs *regs);
void rust_kprobes_no_return_address(void);
void rust_kprobes_frame_mismatch(void);
bool rust_kprobes_runs_elsewhere(const struct task_struct *task);
void rust_kprobes_cpus(size_t counts[3]);
void rust_kprobes_queue_service(void);
void rust_kprobes_service_pools(void);
void rust_kprobes_return_counts(size_t counts[2]);

#endif /* _RUST_KPROBES_RETURNS_GLUE_H */
