// SPDX-License-Identifier: GPL-2.0
/*
 * Finding the generated sites, which lie in modules of their own (part.S).
 *
 * Of each 16 functions the first is kept for measuring hits; the sites of the
 * other 15 are for the probes that are merely there.
 */
#include <linux/kernel.h>
#include "bench.h"

#define STRIDE	7919	/* a prime: spreads the sites taken over the parts */

static const u8 * const begins[BENCH_PARTS] = {
	bench_sites_begin0, bench_sites_begin1, bench_sites_begin2,
	bench_sites_begin3, bench_sites_begin4, bench_sites_begin5,
	bench_sites_begin6, bench_sites_begin7,
};

const u8 *bench_function(unsigned int function)
{
	const unsigned int each = BENCH_FUNCTIONS / BENCH_PARTS;
	size_t size = (bench_sites_end0 - bench_sites_begin0) / each;

	return begins[function / each] + function % each * size;
}

/* A site that is not on a measured function: @index below BENCH_OTHERS. */
void *bench_other_site(unsigned int index)
{
	unsigned int site = (u64)index * STRIDE % BENCH_OTHERS;
	unsigned int function = site / BENCH_SITES;

	function = function / 15 * 16 + function % 15 + 1;
	return (u8 *)bench_function(function) + BENCH_ENTRY +
	       site % BENCH_SITES * BENCH_SITE_BYTES;
}
