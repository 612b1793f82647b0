// SPDX-License-Identifier: GPL-2.0
/*
 * What registering and unregistering cost.
 *
 * Two kinds of figures: instructions executed per probe, by whatever task had
 * to (counted outside, between marks), and, for calls that wait for grace
 * periods, the virtual nanoseconds until they are back ("_latency").
 * Registering one by one is timed call by call, and a call that is refused
 * (the instruction or function may not be probed) does not count; the batches
 * take the same addresses that were accepted one by one.
 */
#define pr_fmt(fmt) "bench: " fmt

#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include "bench.h"

#define MOST	10000

struct place {
	const char *name;
	void *(*site)(unsigned int index);
	unsigned int sites;
	u32 flags;
};

static struct kprobe *probes;
static struct kprobe **all;
static u64 *samples;

static bool allocate(void)
{
	probes = vcalloc(MOST, sizeof(*probes));
	all = vcalloc(MOST, sizeof(*all));
	samples = vcalloc(MOST, sizeof(*samples));
	if (probes && all && samples)
		return true;
	bench_failed("lifecycle", -ENOMEM);
	return false;
}

static void release(void)
{
	vfree(samples);
	vfree(all);
	vfree(probes);
}

static void fresh(struct kprobe *p, void *at, u32 flags)
{
	memset(p, 0, sizeof(*p));
	p->addr = at;
	p->pre_handler = bench_pre;
	p->flags = flags;
}

static void name_row(char *row, size_t size, const char *verb,
		     const struct place *place, unsigned int count,
		     const char *how)
{
	snprintf(row, size, "%s_%s_%u%s", verb, place->name, count, how);
}

static notrace noinline void elsewhere(void)
{
	barrier();
}

/* By whose unregistering is done what others have left to be done. */
static struct kprobe next_one;

static int begin_later(void)
{
	fresh(&next_one, elsewhere, 0);
	return register_kprobe(&next_one);
}

/*
 * What was unregistered may have left something to be done when nobody can be
 * in its copies any more: by the callbacks of Tasks RCU, and by whoever
 * unregisters next. That is not to fall into another row.
 */
static void report_later(const struct place *place, unsigned int count,
			 const char *how, int error)
{
	char row[48];
	unsigned int mark;

	name_row(row, sizeof(row), "later", place, count, how);
	if (error) {
		bench_failed(row, error);
		unregister_kprobe(&next_one);
		return;
	}
	mark = bench_mark();
#ifdef CONFIG_TASKS_RCU
	/* A callback may have found that it has to ask for another one. */
	rcu_barrier_tasks();
	rcu_barrier_tasks();
#endif
	unregister_kprobe(&next_one);
	bench_mark();
	bench_spans(row, mark, 1, count);
}

/* One stretch of work between two marks, which took @ns in all. */
static void report(const char *row, const char *latency, unsigned int mark,
		   unsigned int count, u64 ns, int error)
{
	if (error) {
		bench_failed(row, error);
		bench_failed(latency, error);
		return;
	}
	bench_spans(row, mark, 1, count);
	bench_figure(latency, "ns", ns, 1);
}

/*
 * Registers @count probes one by one. On return all[] is what was accepted;
 * the errno is the last refusal's if there was not enough to accept.
 */
static int register_each(const struct place *place, unsigned int count)
{
	unsigned int index = 0, accepted = 0;
	int error, last = -ENOENT;
	u64 start;

	while (accepted < count && index < place->sites) {
		struct kprobe *p = &probes[accepted];

		fresh(p, place->site(index++), place->flags);
		start = bench_clock();
		error = register_kprobe(p);
		samples[accepted] = bench_clock() - start;
		if (error)
			last = error;
		else
			all[accepted++] = p;
		/* Nothing will be accepted: do not try 32,768 times. */
		if (!accepted && index == 64)
			break;
		cond_resched();
	}
	if (accepted == count)
		return 0;
	if (accepted)
		unregister_kprobes(all, accepted);
	return last;
}

static int register_batch(const struct place *place, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		fresh(all[i], all[i]->addr, place->flags);
	return register_kprobes(all, count);
}

static int one_by_one(const struct place *place, unsigned int count)
{
	char row[48];
	unsigned int i, mark;
	u64 start;
	int error;

	name_row(row, sizeof(row), "register", place, count, "");
	error = begin_later() ?: register_each(place, count);
	if (error)
		bench_failed(row, error);
	else
		bench_figures(row, "insns", samples, count, 1);

	name_row(row, sizeof(row), "unregister", place, count, "");
	if (error) {
		bench_failed(row, error);
		name_row(row, sizeof(row), "unregister", place, count, "_latency");
		bench_failed(row, error);
		report_later(place, count, "", error);
		return error;
	}
	mark = bench_mark();
	for (i = 0; i < count; i++) {
		start = bench_clock();
		unregister_kprobe(all[i]);
		samples[i] = bench_clock() - start;
	}
	bench_mark();
	bench_spans(row, mark, 1, count);
	name_row(row, sizeof(row), "unregister", place, count, "_latency");
	bench_figures(row, "ns", samples, count, 1);
	report_later(place, count, "", 0);
	return 0;
}

/* @error: why one_by_one() has not found out, into all[], what is accepted. */
static void in_a_batch(const struct place *place, unsigned int count, int error)
{
	char row[48], latency[48];
	unsigned int mark;
	u64 start;

	name_row(row, sizeof(row), "register", place, count, "_batch");
	error = error ?: begin_later();
	mark = bench_mark();
	if (!error)
		error = register_batch(place, count);
	bench_mark();
	if (error)
		bench_failed(row, error);
	else
		bench_spans(row, mark, 1, count);

	name_row(row, sizeof(row), "unregister", place, count, "_batch");
	name_row(latency, sizeof(latency), "unregister", place, count,
		 "_batch_latency");
	mark = bench_mark();
	start = bench_clock();
	if (!error)
		unregister_kprobes(all, count);
	start = bench_clock() - start;
	bench_mark();
	report(row, latency, mark, count, start, error);
	report_later(place, count, "_batch", error);
}

static void single(const struct place *place)
{
	char row[48], unregister[48], latency[48];
	const unsigned int times = 64;
	unsigned int i, mark = 0, index = 0;
	u64 waits[64];
	u64 start;
	int error = 0;

	name_row(row, sizeof(row), "register", place, 1, "");
	name_row(unregister, sizeof(unregister), "unregister", place, 1, "");
	name_row(latency, sizeof(latency), "unregister", place, 1, "_latency");
	for (i = 0; i < times; ) {
		if (index == place->sites || (!i && index == 64))
			break;
		fresh(&probes[0], place->site(index++), place->flags);
		start = bench_clock();
		error = register_kprobe(&probes[0]);
		samples[i] = bench_clock() - start;
		if (error)
			continue;
		mark = bench_mark();
		start = bench_clock();
		unregister_kprobe(&probes[0]);
		waits[i++] = bench_clock() - start;
		bench_mark();
	}
	if (i < times) {
		error = error ?: -ENOENT;
		bench_failed(row, error);
		bench_failed(unregister, error);
		bench_failed(latency, error);
		return;
	}
	bench_figures(row, "insns", samples, times, 1);
	bench_spans(unregister, mark - 2 * (times - 1), times, times);
	bench_figures(latency, "ns", waits, times, 1);
}

static void rows(const struct place *place, unsigned int most)
{
	unsigned int count;
	int error;

	single(place);
	for (count = 1000; count <= most; count *= 10) {
		error = one_by_one(place, count);
		in_a_batch(place, count, error);
	}
}

void bench_module_rows(void)
{
	const struct place armed = {
		"module", bench_other_site, BENCH_OTHERS, 0
	};

	if (allocate())
		rows(&armed, 10000);
	release();
}

void bench_vmlinux_rows(void)
{
	const struct place disabled = {
		"vmlinux_disabled", bench_vmlinux_site, bench_vmlinux_sites(),
		KPROBE_FLAG_DISABLED
	};
	const struct place armed = {
		"vmlinux", bench_vmlinux_site, bench_vmlinux_sites(), 0
	};

	pr_info("sites=%u in the kernel's functions\n", bench_vmlinux_sites());
	bench_let_console_print();
	if (allocate()) {
		rows(&disabled, 10000);
		rows(&armed, 1000);
	}
	release();
}

void bench_deep_rows(void)
{
	const struct place deep = {
		"vmlinux_deep", bench_deep_site, bench_deep_sites(),
		KPROBE_FLAG_DISABLED
	};

	pr_info("sites=%u far inside of the kernel's functions\n",
		bench_deep_sites());
	bench_let_console_print();
	if (allocate())
		rows(&deep, 1000);
	release();
}

/* From the first call until every site is a jump, and back. */
static void optimizer(unsigned int count)
{
	const struct place place = {
		"optimized", bench_other_site, BENCH_OTHERS, 0
	};
	char row[48], latency[48];
	void **sites = NULL;
	unsigned int i, mark;
	u64 start;
	int error;

	name_row(row, sizeof(row), "register", &place, count, "");
	name_row(latency, sizeof(latency), "register", &place, count, "_latency");
	mark = bench_mark();
	start = bench_clock();
	error = register_each(&place, count);
	if (!error) {
		for (i = 0; i < count && !error; i++)
			if (!bench_wait_form(all[i]->addr, BENCH_JUMP))
				error = -ETIMEDOUT;
		if (error)
			unregister_kprobes(all, count);
	}
	start = bench_clock() - start;
	bench_mark();
	report(row, latency, mark, count, start, error);
	if (!error) {
		sites = vcalloc(count, sizeof(*sites));
		if (!sites)
			unregister_kprobes(all, count);
	}

	name_row(row, sizeof(row), "unregister", &place, count, "_batch");
	name_row(latency, sizeof(latency), "unregister", &place, count,
		 "_batch_latency");
	if (!sites) {
		bench_failed(row, error ?: -ENOMEM);
		bench_failed(latency, error ?: -ENOMEM);
		return;
	}
	for (i = 0; i < count; i++)
		sites[i] = all[i]->addr;
	mark = bench_mark();
	start = bench_clock();
	unregister_kprobes(all, count);
	for (i = 0; i < count && !error; i++)
		if (!bench_wait_form(sites[i], BENCH_SITE))
			error = -ETIMEDOUT;
	start = bench_clock() - start;
	bench_mark();
	report(row, latency, mark, count, start, error);
	vfree(sites);
}

void bench_optimizer_rows(void)
{
	if (!BENCH_JUMPS)
		return;
	if (allocate()) {
		optimizer(1);
		optimizer(1000);
		optimizer(10000);
	}
	release();
}
