/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the benchmark has to know of s390 beside the functions in targets.S.
 */
#ifndef _KPROBES_BENCH_ARCH_H
#define _KPROBES_BENCH_ARCH_H

#define BENCH_SITE_BYTES	6
#define BENCH_SITE		0x21
#define BENCH_ENTRY		0

#define BENCH_FORM_AT		1
#define BENCH_BREAKPOINT	0x02
#define BENCH_JUMP		0xf4
/* C has none to compare with. */
#define BENCH_JUMPS		IS_ENABLED(CONFIG_OPTPROBES)
#define BENCH_FTRACE		0xf4

/* C steps branches, and QEMU ends the step of a branch at a wrong address. */
#define BENCH_BRANCHES		IS_ENABLED(CONFIG_RUST_KPROBES)
#define BENCH_NOTIFIES		1
#define BENCH_MANY		1000
#define BENCH_MOST		30000
#define BENCH_PLACE_BYTES	2

#include <linux/kdebug.h>
#include <linux/timex.h>

/* targets.S: functions of 16 bytes */
extern const u8 bench_marks[];

static inline u64 bench_clock(void)
{
	return tod_to_ns(get_tod_clock());
}

static inline void bench_mark_instruction(void)
{
	asm volatile(".long 0x4706b706" : : : "memory");
}

static inline unsigned long bench_breakpoint(unsigned long reason,
					     const struct pt_regs *regs)
{
	return reason == DIE_BPT ? regs->psw.addr - 2 : 0;
}

/* A data exception in a page of its own. */
static inline bool bench_mark_trap(unsigned int number)
{
	((void (*)(void))(bench_marks + number * 16))();
	return true;
}

static inline unsigned int bench_place(const u8 *code)
{
	/* brcl 0 */
	return code[0] == 0xc0 && code[1] == 0x04 ? 6 : 0;
}

#endif
