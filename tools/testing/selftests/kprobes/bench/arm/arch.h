/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the benchmark has to know of arm beside the functions in targets.S. Nothing
 * is called by ftrace there.
 */
#ifndef _KPROBES_BENCH_ARCH_H
#define _KPROBES_BENCH_ARCH_H

#define BENCH_SITE_BYTES	4
#define BENCH_SITE		0xe3
#define BENCH_ENTRY		0

#define BENCH_FORM_AT		3
#define BENCH_BREAKPOINT	0xe7
#define BENCH_JUMP		0xea
#define BENCH_JUMPS		IS_ENABLED(CONFIG_OPTPROBES)
#define BENCH_FTRACE		0

#define BENCH_BRANCHES		1
/* Who else wants breakpoints has no die notifier. */
#define BENCH_NOTIFIES		0
#define BENCH_MANY		100
/*
 * C's slots fill the 16 MB of modules after some 10,000 probes. After that each
 * page of slots flushes a gigabyte from the TLB, page by page: 20,000 probes more
 * are not registered within 20 minutes in QEMU.
 */
#define BENCH_MOST		(IS_ENABLED(CONFIG_RUST_KPROBES) ? 30000 : 10000)
#define BENCH_PLACE_BYTES	4

#include <linux/uaccess.h>
#include <asm/arch_timer.h>

/* QEMU's timer counts each 16 nanoseconds. */
static inline u64 bench_clock(void)
{
	return __arch_counter_get_cntvct() * 16;
}

/* A hint that means nothing. */
static inline void bench_mark_instruction(void)
{
	asm volatile(".inst 0xe320f06b" : : : "memory");
}

static inline unsigned long bench_breakpoint(unsigned long reason,
					     const struct pt_regs *regs)
{
	return 0;
}

/* A data abort at an address in a hole of the kernel's part. */
static inline bool bench_mark_trap(unsigned int number)
{
	const void *hole = (void *)(0xfff10000UL + number * 16UL);
	u8 byte;

	return copy_from_kernel_nofault(&byte, hole, sizeof(byte));
}

static inline unsigned int bench_place(const u8 *code)
{
	return 0;
}

#endif
