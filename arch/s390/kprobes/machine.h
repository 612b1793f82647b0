/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface between the s390 part of the Rust kprobes and C.
 */
#ifndef _ARCH_S390_KPROBES_MACHINE_H
#define _ARCH_S390_KPROBES_MACHINE_H

#include <linux/stacktrace.h>
#include <linux/stddef.h>
#include <linux/types.h>
#include <asm/lowcore.h>

/* Where the lowcore has the register that a per-CPU section adds to. */
enum {
	RUST_KPROBES_PERCPU_REGISTER = offsetof(struct lowcore, percpu_register),
	RUST_KPROBES_PERCPU_REGISTER_ALT =
		LOWCORE_ALT_ADDRESS + RUST_KPROBES_PERCPU_REGISTER,
};

struct pt_regs;

bool kprobe_original_frame(unsigned long *ip, unsigned long *sp);
unsigned long rust_kprobes_cpu_offset(void);
bool rust_kprobes_stops_cpus(void);
bool rust_kprobes_copy_nofault(void *to, const void *from, bool word);
#ifdef CONFIG_RUST_KPROBES_JUMPS
/* trampoline.S */
extern const char rust_kprobes_detour[], rust_kprobes_detour_frame[];
extern const char rust_kprobes_detour_end[], rust_kprobes_detour_template[];
void rust_kprobes_jumped(const unsigned long *chain_word, struct pt_regs *regs);
#ifdef CONFIG_RUST_KPROBES_KUNIT_TEST
/* detour_test.S */
void rust_kprobes_test_run(void *state, const void *function);
extern const char rust_kprobes_test_ran[], rust_kprobes_test_carry[];
extern const char rust_kprobes_test_store[], rust_kprobes_test_relative[];
extern const char rust_kprobes_test_executed[], rust_kprobes_test_leaf[];
extern const char rust_kprobes_test_leaf_probed[], rust_kprobes_test_short[];
extern const char rust_kprobes_test_branch[];
#endif
#endif
#ifdef CONFIG_KRETPROBES
/* return.S */
void rust_kprobes_return(struct pt_regs *regs);
#endif

#endif /* _ARCH_S390_KPROBES_MACHINE_H */
