// SPDX-License-Identifier: GPL-2.0
/*
 * Places in the kernel's own functions. The addresses of the functions come
 * from the outside (/proc/kallsyms); of each that starts with a place for
 * ftrace, the instruction behind that place is taken, as a probe there needs
 * a breakpoint. Of long functions a few bytes near their end are taken besides,
 * of which those are accepted where an instruction starts.
 */
#include <linux/hex.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include "bench.h"

#define MOST	32768
#define STRIDE	7919	/* a prime: spreads the places taken over the kernel */

#define LONG	768	/* bytes of a function that are many */
#define TRIES	8	/* at consecutive bytes */

static void **sites, **deep_sites;
static unsigned int count, deep_count;
static u64 partial;	/* the address of a line that is not yet complete */

/* From @start up to @end, the next symbol. */
static void take_deep(u64 start, u64 end)
{
	unsigned int i;

	if (!start || start + LONG > end || end - start > SZ_64K)
		return;
	for (i = 0; i < TRIES && deep_count < MOST; i++)
		deep_sites[deep_count++] = (void *)(end - LONG / 8 + i);
}

static void take(u64 address)
{
	static u64 traced;	/* the last function, if ftrace's place is there */
	u8 code[BENCH_PLACE_BYTES];
	unsigned int place;

	take_deep(traced, address);
	traced = 0;
	if (count == MOST ||
	    copy_from_kernel_nofault(code, (void *)address, sizeof(code)))
		return;
	place = bench_place(code);
	if (place) {
		sites[count++] = (void *)(address + place);
		traced = address;
	}
}

int bench_vmlinux_take(const char *text, size_t length)
{
	static DEFINE_MUTEX(lock);
	size_t i;
	int digit;

	guard(mutex)(&lock);
	if (!sites)
		sites = vcalloc(MOST, sizeof(*sites));
	if (!deep_sites)
		deep_sites = vcalloc(MOST, sizeof(*deep_sites));
	if (!sites || !deep_sites)
		return -ENOMEM;
	for (i = 0; i < length; i++) {
		digit = hex_to_bin(text[i]);
		if (digit >= 0) {
			partial = partial << 4 | digit;
		} else {
			if (partial)
				take(partial);
			partial = 0;
		}
	}
	return 0;
}

unsigned int bench_vmlinux_sites(void)
{
	return count;
}

/* The sites in an order that jumps about, the same in every run. */
void *bench_vmlinux_site(unsigned int index)
{
	return sites[(u64)index * STRIDE % count];
}

unsigned int bench_deep_sites(void)
{
	return deep_count;
}

void *bench_deep_site(unsigned int index)
{
	return deep_sites[(u64)index * STRIDE % deep_count];
}

void bench_vmlinux_free(void)
{
	vfree(sites);
	vfree(deep_sites);
}
