// SPDX-License-Identifier: GPL-2.0
/*
 * The part of the C interface that Rust cannot emit: exports, initcalls,
 * per-CPU data, and inline functions of C that the hit path needs out of line
 * where no probe can be.
 */
#include <linux/export.h>
#include <linux/init.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/preempt.h>

#include "glue.h"

DEFINE_PER_CPU(struct kprobe *, current_kprobe);
DEFINE_PER_CPU(struct kprobe_ctlblk, kprobe_ctlblk);

/* See kprobe_busy_begin(). BPF shows current_kprobe->addr to its programs. */
const struct kprobe rust_kprobes_nobody = {
	.addr = (void *)get_kprobe,
};

/* <linux/kprobes.h> names the pools of slots to ask whether one has an address. */
#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
struct kprobe_insn_cache kprobe_insn_slots;
#ifdef CONFIG_OPTPROBES
struct kprobe_insn_cache kprobe_optinsn_slots;
#endif
#endif

#ifdef CONFIG_KPROBES_ON_FTRACE
bool kprobe_ftrace_disabled __read_mostly;
#endif

void __kprobes rust_kprobes_preempt_disable(void)
{
	preempt_disable();
}

void __kprobes rust_kprobes_preempt_enable(void)
{
	preempt_enable();
}

#ifdef CONFIG_RUST_KPROBES_KUNIT_TEST
/* What C sees: the tests compare it with what Rust wrote. */
struct kprobe * __kprobes rust_kprobes_test_running(void)
{
	return kprobe_running();
}
#endif

/* What abi.rs defines and <linux/kprobes.h> declares. */
#define DEFINED_IN_RUST(function) EXPORT_SYMBOL_GPL(function)

early_initcall(rust_kprobes_init);

DEFINED_IN_RUST(register_kprobe);
DEFINED_IN_RUST(unregister_kprobe);
DEFINED_IN_RUST(register_kprobes);
DEFINED_IN_RUST(unregister_kprobes);
DEFINED_IN_RUST(register_kretprobe);
DEFINED_IN_RUST(unregister_kretprobe);
DEFINED_IN_RUST(register_kretprobes);
DEFINED_IN_RUST(unregister_kretprobes);
DEFINED_IN_RUST(disable_kprobe);
DEFINED_IN_RUST(enable_kprobe);
