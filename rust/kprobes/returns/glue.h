/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What returns.c and abi.rs tell each other of return probes.
 */
#ifndef _RUST_KPROBES_RETURNS_GLUE_H
#define _RUST_KPROBES_RETURNS_GLUE_H

#include <linux/kprobes.h>
#include <linux/mutex.h>

/* How many calls of a function can be watched at once, as with C. */
enum { RUST_KPROBES_MOST_CALLS = 1 << 24 };

extern struct mutex rust_kprobes_returns_mutex;

int rust_kprobes_function_entered(struct kprobe *p, struct pt_regs *regs);
void rust_kprobes_returned(struct pt_regs *regs);
void rust_kprobes_nowhere_to_return(void);
void rust_kprobes_foreign_frame(void);
bool rust_kprobes_runs_elsewhere(const struct task_struct *task);
void rust_kprobes_cpus(size_t counts[3]);
void rust_kprobes_ask_to_tend(void);
void rust_kprobes_tend(void);
int rust_kprobes_growth_limit(void);
void rust_kprobes_limit_growth(int limit);
size_t rust_kprobes_return_pools(void);
size_t rust_kprobes_return_calls(void);

#endif /* _RUST_KPROBES_RETURNS_GLUE_H */
