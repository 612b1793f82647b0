/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the benchmark has to know of s390 beside the functions in targets.S.
 */
#ifndef _KPROBES_BENCH_ARCH_H
#define _KPROBES_BENCH_ARCH_H

/* The length, and the first byte, of each of the generated instructions to probe. */
#define BENCH_SITE_BYTES	6
#define BENCH_SITE		0xc0
#define BENCH_ENTRY		0

/*
 * The first byte of a site, which tells how a hit gets to the handlers. C has no
 * jumps to compare with.
 */
#define BENCH_FORM_AT		0
#define BENCH_BREAKPOINT	0x00
#define BENCH_JUMP		0xff
#define BENCH_JUMPS		0
#define BENCH_FTRACE		0xc0

/* C steps branches, and QEMU ends the step of a branch at a wrong address. */
#define BENCH_BRANCHES	IS_ENABLED(CONFIG_RUST_KPROBES)

#define BENCH_NOTIFIES	1

/* How many probes are many, where what other CPUs have to do is counted. */
#define BENCH_MANY		1000

/* The bytes that tell whether a function has a place for ftrace. */
#define BENCH_PLACE_BYTES	2

#include <linux/kdebug.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/timex.h>

/* targets.S: functions of 16 bytes */
extern const u8 bench_marks[];

static inline u64 bench_clock(void)
{
	return tod_to_ns(get_tod_clock());
}

/* An instruction that nothing else has, for insncount.c to count. */
static inline void bench_mark_instruction(void)
{
	asm volatile(".long 0x4706b706" : : : "memory");
}

/* Where a breakpoint was, if @reason tells notifiers of one; or 0. */
static inline unsigned long bench_breakpoint(unsigned long reason,
					     const struct pt_regs *regs)
{
	return reason == DIE_BPT ? regs->psw.addr - 2 : 0;
}

/*
 * A mark in QEMU's exception log: a data exception in a page of its own, at an
 * address whose low bits carry the number. The exception table resolves it.
 */
static inline bool bench_mark_trap(unsigned int number)
{
	((void (*)(void))(bench_marks + number * 16))();
	return true;
}

/* How often CPU 1 has had to do something for others: its runs of stop_machine(). */
static inline unsigned long bench_received(void)
{
	struct task_struct *task;
	unsigned long runs = 0;

	rcu_read_lock();
	for_each_process(task)
		if (!strcmp(task->comm, "migration/1"))
			runs = READ_ONCE(task->nvcsw);
	rcu_read_unlock();
	return runs;
}

/* Bytes up to behind the place for ftrace that a function begins with, or 0. */
static inline unsigned int bench_place(const u8 *code)
{
	/* brcl 0 */
	return code[0] == 0xc0 && code[1] == 0x04 ? 6 : 0;
}

#endif
