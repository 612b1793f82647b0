/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations for the KUnit tests: detour_test.S, running_test.c, and headers.
 */
#ifndef _ARCH_X86_KPROBES_DETOUR_TEST_H
#define _ARCH_X86_KPROBES_DETOUR_TEST_H

#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/stacktrace.h>

struct kprobe *rust_kprobes_test_running(void);
void rust_kprobes_test_run(void *state, const void *function);
extern const char rust_kprobes_test_ran[];
extern const char rust_kprobes_test_push[], rust_kprobes_test_plain[];
extern const char rust_kprobes_test_stack[], rust_kprobes_test_rip[];
extern const char rust_kprobes_test_jcc[], rust_kprobes_test_jmp[];
extern const char rust_kprobes_test_call[], rust_kprobes_test_flags[];
extern const char rust_kprobes_test_ret[], rust_kprobes_test_gs[];
extern const char rust_kprobes_test_cr3[], rust_kprobes_test_iret[];
extern const char rust_kprobes_test_iret_last[];

#endif /* _ARCH_X86_KPROBES_DETOUR_TEST_H */
