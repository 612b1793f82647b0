/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the benchmark has to know of x86 beside the functions in targets.S.
 */
#ifndef _KPROBES_BENCH_ARCH_H
#define _KPROBES_BENCH_ARCH_H

#define BENCH_SITE_BYTES	5
#define BENCH_SITE		0xb8

#define BENCH_FORM_AT		0
#define BENCH_BREAKPOINT	0xcc
#define BENCH_JUMP		0xe9
#define BENCH_JUMPS		IS_ENABLED(CONFIG_OPTPROBES)
#define BENCH_FTRACE		0xe8

#define BENCH_BRANCHES		1
#define BENCH_NOTIFIES		1
#define BENCH_MANY		100
#define BENCH_MOST		30000
#define BENCH_PLACE_BYTES	9

#ifdef CONFIG_X86_KERNEL_IBT
#define BENCH_ENTRY		4
#else
#define BENCH_ENTRY		0
#endif

#include <linux/interrupt.h>
#include <linux/kdebug.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/hardirq.h>
#include <asm/msr.h>
#include <asm/tsc.h>

static inline u64 bench_clock(void)
{
	return rdtsc_ordered();
}

static inline void bench_mark_instruction(void)
{
	asm volatile("nopl 0x6b70726f(%%rax)" ::: "memory");
}

/* A page fault at an address in a hole of the kernel's half. */
static inline bool bench_mark_trap(unsigned int number)
{
	const void *hole = (void *)(0xffffffff00000000UL + number * 16UL);
	u8 byte;

	return copy_from_kernel_nofault(&byte, hole, sizeof(byte));
}

/* Function calls. */
#define bench_received	bench_received
static inline unsigned long bench_received(void)
{
	return READ_ONCE(per_cpu(irq_stat, 1).counts[IRQ_COUNT_CALL_FUNCTION]);
}

static inline unsigned int bench_place(const u8 *code)
{
	static const u8 endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const u8 nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	unsigned int mark = memcmp(code, endbr, sizeof(endbr)) ?
			    0 : sizeof(endbr);

	return memcmp(code + mark, nop5, sizeof(nop5)) ?
	       0 : mark + sizeof(nop5);
}

static inline unsigned long bench_breakpoint(unsigned long reason,
					     const struct pt_regs *regs)
{
	return reason == DIE_INT3 ? regs->ip - 1 : 0;
}

#endif
