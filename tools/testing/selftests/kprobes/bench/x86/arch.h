/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the benchmark has to know of x86 beside the functions in targets.S.
 */
#ifndef _KPROBES_BENCH_ARCH_H
#define _KPROBES_BENCH_ARCH_H

/* The length of each of the generated instructions to probe. */
#define BENCH_SITE_BYTES	5

/* Bytes of ENDBR before the first of them. */
#ifdef CONFIG_X86_KERNEL_IBT
#define BENCH_ENTRY		4
#else
#define BENCH_ENTRY		0
#endif

#ifndef __ASSEMBLY__
#include <linux/kdebug.h>
#include <asm/msr.h>
#include <asm/tsc.h>

/* Once all before it is done. */
static inline u64 bench_clock(void)
{
	return rdtsc_ordered();
}

/* An instruction that nothing else has, for insncount.c to count. */
static inline void bench_mark_instruction(void)
{
	asm volatile("nopl 0x6b70726f(%%rax)" ::: "memory");
}

/* Where a breakpoint was, if @reason tells notifiers of one; or 0. */
static inline unsigned long bench_breakpoint(unsigned long reason,
					     const struct pt_regs *regs)
{
	return reason == DIE_INT3 ? regs->ip - 1 : 0;
}
#endif

#endif
