/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What rust/kprobes/ needs from C that no other binding needs, and what abi.c
 * and abi.rs tell each other.
 */
#ifndef _RUST_KPROBES_GLUE_H
#define _RUST_KPROBES_GLUE_H

#include <asm/sections.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>

#ifdef CONFIG_RUST_KPROBES
extern const struct kprobe rust_kprobes_nobody;

int rust_kprobes_init(void);
void rust_kprobes_preempt_disable(void);
void rust_kprobes_preempt_enable(void);
struct kprobe *rust_kprobes_test_running(void);
#endif /* CONFIG_RUST_KPROBES */

#endif /* _RUST_KPROBES_GLUE_H */
