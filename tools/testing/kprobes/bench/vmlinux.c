// SPDX-License-Identifier: GPL-2.0
/*
 * Places in the kernel's own functions. The addresses of the functions come
 * from the outside (/proc/kallsyms); of each that starts with a place for
 * ftrace, the instruction behind that place is taken, as a probe there needs
 * a breakpoint.
 */
#include <linux/hex.h>
#include <linux/mutex.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include "bench.h"

#define MOST	32768
#define STRIDE	7919	/* a prime: spreads the places taken over the kernel */

static void **sites;
static unsigned int count;
static u64 partial;	/* the address of a line that is not yet complete */

static const u8 endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
static const u8 nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

static bool starts_with(const u8 *at, const u8 *bytes, size_t length)
{
	u8 found[8];

	return !copy_from_kernel_nofault(found, at, length) &&
	       !memcmp(found, bytes, length);
}

static void take(u64 address)
{
	const u8 *at = (const u8 *)address;

	if (starts_with(at, endbr, sizeof(endbr)))
		at += sizeof(endbr);
	if (count < MOST && starts_with(at, nop5, sizeof(nop5)))
		sites[count++] = (void *)(at + sizeof(nop5));
}

int bench_vmlinux_take(const char *text, size_t length)
{
	static DEFINE_MUTEX(lock);
	size_t i;
	int digit;

	guard(mutex)(&lock);
	if (!sites)
		sites = vcalloc(MOST, sizeof(*sites));
	if (!sites)
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

void bench_vmlinux_free(void)
{
	vfree(sites);
}
