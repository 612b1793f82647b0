/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of the benchmark share.
 *
 * Under QEMU's -icount shift=0 a tick of bench_clock() is one executed guest
 * instruction, or one virtual nanosecond of a CPU with nothing to run. Both are
 * exact and repeat. Where a row may wait, the instructions are counted from the
 * outside, by insncount.c, between marks.
 */
#ifndef _KPROBES_BENCH_H
#define _KPROBES_BENCH_H

#include <linux/kprobes.h>
#include <linux/types.h>

/*
 * The architecture has:
 *
 * BENCH_SITE_BYTES	the length of each of the generated instructions to probe,
 * BENCH_SITE		and its byte at BENCH_FORM_AT, which tells how a hit gets to
 *			the handlers: by BENCH_BREAKPOINT, BENCH_JUMP, BENCH_FTRACE
 * BENCH_ENTRY		bytes before the first of them
 * BENCH_JUMPS, BENCH_BRANCHES, BENCH_NOTIFIES	are there such rows?
 * BENCH_MANY		how many probes are many, where what other CPUs have to do
 *			is counted
 * BENCH_MOST		the highest number of other probes that rows are measured with
 * BENCH_PLACE_BYTES	the bytes that tell whether a function has a place for ftrace
 *
 * bench_clock()	once all before it is done
 * bench_mark_instruction()	one that nothing else has, for insncount.c to count
 * bench_mark_trap()	a mark in QEMU's exception log: its address has the number
 *			in low bits, and the exception table resolves it. False if
 *			there was none
 * bench_received()	how often CPU 1 has had to do something for others, unless
 *			these are runs of stop_machine()
 * bench_place()	bytes up to behind the place for ftrace that a function
 *			begins with, or 0
 * bench_breakpoint()	where a breakpoint was, if @reason tells notifiers of one;
 *			or 0
 */
#include "arch.h"
#include "sites.h"

/* part.S, once for each module of sites */
extern const u8 bench_sites_begin0[];
extern const u8 bench_sites_begin1[];
extern const u8 bench_sites_begin2[];
extern const u8 bench_sites_begin3[];
extern const u8 bench_sites_begin4[];
extern const u8 bench_sites_begin5[];
extern const u8 bench_sites_begin6[];
extern const u8 bench_sites_begin7[];
extern const u8 bench_sites_end0[];

/* sites.c */
#define BENCH_OTHERS	(BENCH_FUNCTIONS / 16 * 15 * BENCH_SITES)
const u8 *bench_function(unsigned int function);
void *bench_other_site(unsigned int index);

/* targets.S */
void bench_calls(void (*function)(void), unsigned int times);
void bench_mov(void);
void bench_mov_return(void);
void bench_inner(void);
void bench_short(void);
void bench_jmp(void);
void bench_call(void);
void bench_ret(void);
void bench_trap(void);
void bench_notified(void);

/* report.c: measuring and saying so, one line per row */
#define BENCH_SAMPLES		64
#define BENCH_TIMES		256

void bench_let_console_print(void);
void bench_figures(const char *row, const char *unit, u64 *samples,
		   unsigned int count, u64 each);
void bench_figure(const char *row, const char *unit, u64 total, u64 count);
void bench_failed(const char *row, int error);
void bench_unexpected(const char *row, const char *what, u64 found, u64 expected);
u64 bench_median_call(void (*function)(void), unsigned int samples,
		      unsigned int times);
void bench_sample_calls(const char *row, void (*function)(void));
void bench_trap_calls(const char *row, void (*function)(void));
unsigned int bench_mark(void);
void bench_spans(const char *row, unsigned int first, unsigned int spans,
		 u64 count);
bool bench_wait_form(const void *addr, u8 form);

/* hits.c */
extern u64 bench_hits;
int bench_pre(struct kprobe *p, struct pt_regs *regs);
void bench_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags);
int bench_return(struct kretprobe_instance *ri, struct pt_regs *regs);
void bench_c(void);
void bench_hit_rows(bool optimized, bool traps);

/* scale.c */
void bench_scale_rows(void);

/* lifecycle.c */
void bench_module_rows(void);
void bench_vmlinux_rows(void);
void bench_deep_rows(void);
void bench_optimizer_rows(void);

/* memory.c */
u64 bench_memory_free(void);
u64 bench_memory_taken(u64 free_before);
void bench_memory_rows(void);

/* vmlinux.c */
int bench_vmlinux_take(const char *text, size_t length);
void bench_vmlinux_free(void);
unsigned int bench_vmlinux_sites(void);
void *bench_vmlinux_site(unsigned int index);
unsigned int bench_deep_sites(void);
void *bench_deep_site(unsigned int index);

/* syncs.c */
void bench_sync_rows(void);

#endif
