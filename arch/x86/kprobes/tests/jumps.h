/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What optimize_target.S of x86 has besides the functions of optimize.h.
 */
#ifndef _X86_KPROBES_TESTS_JUMPS_H
#define _X86_KPROBES_TESTS_JUMPS_H

#include <linux/ptrace.h>
#include "optimize.h"

asmlinkage void clauses_invoke_with(struct pt_regs *regs, const void *function);

extern const u8 optimize_rip[], optimize_registers[], optimize_memory[];
extern const u8 optimize_near_end[], optimize_near_end_next[];
extern const u8 optimize_into[], optimize_behind[];
extern const u8 optimize_indirect_jump[], optimize_label[];
extern const u8 optimize_fault_inside[], optimize_fixup_inside[];
extern const u8 optimize_fault_elsewhere[];
extern const u8 optimize_call[], optimize_indirect_call[];
extern const u8 optimize_branch[], optimize_jump[];
extern const u8 optimize_ud2[], optimize_int3[];
extern const u8 optimize_loop[], optimize_landing_pad[];

#endif
