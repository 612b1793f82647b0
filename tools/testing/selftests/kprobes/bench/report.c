// SPDX-License-Identifier: GPL-2.0
/*
 * Taking figures and printing them: one line per row of the table.
 * Nothing is subtracted: the loop that calls a probed function is part of the
 * figure, and the bare rows show what it costs alone.
 */
#define pr_fmt(fmt) "bench: " fmt

#include <linux/delay.h>
#include <linux/math64.h>
#include <linux/sort.h>
#include "bench.h"

static int ascending(const void *a, const void *b)
{
	u64 left = *(const u64 *)a, right = *(const u64 *)b;

	return left < right ? -1 : left > right;
}

/*
 * A thread writes to the console what was printed, character by character: not
 * while the next row is measured and waits for something.
 */
void bench_let_console_print(void)
{
	msleep(100);
}

static u64 rounded(u64 total, u64 count)
{
	return div64_u64(total + count / 2, count);
}

/* Figures of @count samples, each of them the sum of @each equal events. */
void bench_figures(const char *row, const char *unit, u64 *samples,
		   unsigned int count, u64 each)
{
	u64 total = 0;
	unsigned int i;

	for (i = 0; i < count; i++)
		total += samples[i];
	sort(samples, count, sizeof(*samples), ascending, NULL);
	pr_info("row=%s unit=%s min=%llu median=%llu mean=%llu worst=%llu n=%llu\n",
		row, unit, rounded(samples[0], each),
		rounded(samples[count / 2], each), rounded(total, each * count),
		rounded(samples[count - 1], each), each * count);
	bench_let_console_print();
}

void bench_figure(const char *row, const char *unit, u64 total, u64 count)
{
	u64 mean = rounded(total, count);

	pr_info("row=%s unit=%s min=%llu median=%llu mean=%llu worst=%llu n=%llu\n",
		row, unit, mean, mean, mean, mean, count);
	bench_let_console_print();
}

void bench_failed(const char *row, int error)
{
	pr_info("row=%s errno=%d\n", row, error);
}

void bench_unexpected(const char *row, const char *what, u64 found, u64 expected)
{
	pr_info("row=%s wrong=%s found=%llu expected=%llu\n", row, what, found,
		expected);
}

static void sample(u64 *samples, unsigned int count, void (*function)(void),
		   unsigned int times)
{
	unsigned int i;
	u64 start;

	bench_calls(function, times);
	for (i = 0; i < count; i++) {
		start = bench_clock();
		bench_calls(function, times);
		samples[i] = bench_clock() - start;
	}
}

/* One call's cost: the median throws out what an interrupt lengthened. */
u64 bench_median_call(void (*function)(void), unsigned int count,
		      unsigned int times)
{
	u64 samples[BENCH_SAMPLES];

	count = min_t(unsigned int, count, BENCH_SAMPLES);
	sample(samples, count, function, times);
	sort(samples, count, sizeof(*samples), ascending, NULL);
	return rounded(samples[count / 2], times);
}

void bench_sample_calls(const char *row, void (*function)(void))
{
	u64 samples[BENCH_SAMPLES];

	sample(samples, BENCH_SAMPLES, function, BENCH_TIMES);
	bench_figures(row, "insns", samples, BENCH_SAMPLES, BENCH_TIMES);
}

static void mark(unsigned int number)
{
	if (!bench_mark_trap(number))
		pr_info("wrong=hole found=%u\n", number);
}

/* Few calls between two marks: their traps are counted outside. */
void bench_trap_calls(const char *row, void (*function)(void))
{
	static unsigned int marks;
	const unsigned int times = 32;

	bench_calls(function, 1);
	mark(marks);
	bench_calls(function, times);
	mark(marks + 1);
	pr_info("row=%s unit=marks mark=%u n=%u\n", row, marks, times);
	marks += 2;
}

/*
 * A mark for insncount.c, which knows this instruction and counts its
 * executions. Returns the mark's number: marks come in pairs, of an even
 * number and the next.
 */
unsigned int bench_mark(void)
{
	static unsigned int marks;

	bench_mark_instruction();
	return marks++;
}

/* A row whose figure is counted outside, in @spans pairs of marks. */
void bench_spans(const char *row, unsigned int first, unsigned int spans,
		 u64 count)
{
	pr_info("row=%s unit=spans first=%u spans=%u n=%llu\n", row, first,
		spans, count);
	bench_let_console_print();
}

/* Waits until the byte at @addr is @form; false if it takes too long. */
bool bench_wait_form(const void *addr, u8 form)
{
	unsigned int i;

	for (i = 0; i < 30000; i++) {
		if (READ_ONCE(((const u8 *)addr)[BENCH_FORM_AT]) == form)
			return true;
		usleep_range(1000, 1100);
	}
	return false;
}
