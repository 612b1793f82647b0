// SPDX-License-Identifier: GPL-2.0
/*
 * What one hit costs while N other probes are registered and armed.
 *
 * 64 generated functions carry a probe registered before the others ("first")
 * and 64 one registered after them ("last"), which matters to a table with
 * chains. Figures are over the 64 addresses: best, median, mean and worst.
 *
 * All probes here that sit on a breakpoint have a post handler, which keeps
 * them from being optimized, so that one optimized probe can be among them.
 */
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>
#include "bench.h"

#define ADDRESSES	64
#define GROUP		(BENCH_FUNCTIONS / ADDRESSES)

static const unsigned int stages[] = { 0, 1000, 10000, 30000 };

static struct kprobe first[ADDRESSES], last[ADDRESSES];
static struct kprobe jmp, ftrace, optimized;
static struct kretprobe return_probe;

static void (*measured(unsigned int index, bool late))(void)
{
	return (void *)bench_function(index * GROUP + (late ? GROUP / 2 : 0));
}

static void prepare(struct kprobe *p, void *at, kprobe_post_handler_t post)
{
	memset(p, 0, sizeof(*p));
	p->addr = at;
	p->pre_handler = bench_pre;
	p->post_handler = post;
}

/* A row of 64 addresses, or of the error that registering them gave. */
static void addresses_row(const char *name, unsigned int others, bool late,
			  int error)
{
	u64 samples[ADDRESSES];
	unsigned int i;
	char row[40];

	snprintf(row, sizeof(row), "%s_n%u", name, others);
	if (error) {
		bench_failed(row, error);
		return;
	}
	for (i = 0; i < ADDRESSES; i++)
		samples[i] = bench_median_call(measured(i, late), 16, 64);
	bench_figures(row, "insns", samples, ADDRESSES, 1);
}

static void single_row(const char *name, unsigned int others,
		       void (*function)(void), int error)
{
	char row[40];

	snprintf(row, sizeof(row), "%s_n%u", name, others);
	if (error)
		bench_failed(row, error);
	else
		bench_sample_calls(row, function);
}

static int insert(struct kprobe *addresses, bool late)
{
	struct kprobe *all[ADDRESSES];
	unsigned int i;
	u8 *at;

	for (i = 0; i < ADDRESSES; i++) {
		at = (u8 *)measured(i, late);
		at += BENCH_ENTRY + i % BENCH_SITES * BENCH_SITE_BYTES;
		prepare(&addresses[i], at, bench_post);
		all[i] = &addresses[i];
	}
	return register_kprobes(all, ADDRESSES);
}

static void take_out(struct kprobe *addresses)
{
	struct kprobe *all[ADDRESSES];
	unsigned int i;

	for (i = 0; i < ADDRESSES; i++)
		all[i] = &addresses[i];
	unregister_kprobes(all, ADDRESSES);
}

static int first_error, jmp_error, ftrace_error, optimized_error;

/* All rows with so many others, which could be registered unless @error. */
static void measure(unsigned int others, int error)
{
	int last_error, return_error;

	addresses_row("first", others, false, error ?: first_error);
	single_row("jmp_first", others, bench_jmp, error ?: jmp_error);
	single_row("ftrace_first", others, bench_c, error ?: ftrace_error);
	single_row("optimized_first", others, bench_mov,
		   error ?: optimized_error);

	last_error = error ?: insert(last, true);
	addresses_row("last", others, true, last_error);
	if (!last_error)
		take_out(last);

	memset(&return_probe, 0, sizeof(return_probe));
	return_probe.kp.addr = (kprobe_opcode_t *)bench_short + BENCH_ENTRY;
	return_probe.handler = bench_return;
	return_error = error ?: register_kretprobe(&return_probe);
	single_row("return_last", others, bench_short, return_error);
	if (!return_error)
		unregister_kretprobe(&return_probe);
}

static int jump_probe(void)
{
	void *at = (u8 *)bench_mov + BENCH_ENTRY;
	int error;

	if (!BENCH_JUMPS)
		return -EOPNOTSUPP;
	prepare(&optimized, at, NULL);
	error = register_kprobe(&optimized);
	if (error)
		return error;
	if (bench_wait_form(at, BENCH_JUMP))
		return 0;
	unregister_kprobe(&optimized);
	return -ETIMEDOUT;
}

void bench_scale_rows(void)
{
	const unsigned int most = stages[ARRAY_SIZE(stages) - 1];
	struct kprobe *others = vcalloc(most, sizeof(*others));
	struct kprobe **all = vcalloc(most, sizeof(*all));
	unsigned int stage, registered = 0;
	int error = 0;
	u64 free, taken;

	if (!others || !all) {
		bench_failed("scale", -ENOMEM);
		goto free;
	}
	first_error = insert(first, false);
	prepare(&jmp, (u8 *)bench_jmp + BENCH_ENTRY, NULL);
	jmp_error = BENCH_BRANCHES ? register_kprobe(&jmp) : -EOPNOTSUPP;
	prepare(&ftrace, (u8 *)bench_c + BENCH_ENTRY, NULL);
	ftrace_error = register_kprobe(&ftrace);
	optimized_error = jump_probe();

	free = bench_memory_free();
	for (stage = 0; stage < ARRAY_SIZE(stages); stage++) {
		if (stages[stage] > BENCH_MOST) {
			measure(stages[stage], -EOPNOTSUPP);
			continue;
		}
		while (!error && registered < stages[stage]) {
			struct kprobe *p = &others[registered];

			prepare(p, bench_other_site(registered), bench_post);
			error = register_kprobe(p);
			if (!error)
				all[registered++] = p;
			cond_resched();
		}
		measure(stages[stage], error);
	}

	taken = bench_memory_taken(free);
	if (error)
		bench_failed("memory_probe", error);
	else
		bench_figure("memory_probe", "bytes", taken, registered);

	unregister_kprobes(all, registered);
	if (!first_error)
		take_out(first);
	if (!jmp_error)
		unregister_kprobe(&jmp);
	if (!ftrace_error)
		unregister_kprobe(&ftrace);
	if (!optimized_error)
		unregister_kprobe(&optimized);
free:
	vfree(all);
	vfree(others);
}
