/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One eighth of the places to put a probe on, a module of its own: included
 * with BENCH_PART defined. Every instruction can be single-stepped and, where
 * there are jumps, is just wide enough for one, so each site is independent of
 * its neighbours.
 */
#include <linux/export.h>
#include <linux/linkage.h>
#include "site.S"
#include "sites.h"

#define NAME__(stem, part)	stem ## part
#define NAME_(stem, part)	NAME__(stem, part)
#define NAME(stem)		NAME_(stem, BENCH_PART)

	.altmacro
	.macro site_function number
	.balign 32
SYM_FUNC_START_LOCAL_NOALIGN(bench_site_\number)
	bench_site_begin
	.rept BENCH_SITES
	bench_site
	.endr
	bench_site_end
SYM_FUNC_END(bench_site_\number)
	.endm

	.text
	.balign 32
	.globl NAME(bench_sites_begin)
NAME(bench_sites_begin):
	.set index, 0
	.rept BENCH_FUNCTIONS / BENCH_PARTS
	site_function %index
	.set index, index + 1
	.endr
	.balign 32
	.globl NAME(bench_sites_end)
NAME(bench_sites_end):
	.short	0
EXPORT_SYMBOL_GPL(NAME(bench_sites_begin))
EXPORT_SYMBOL_GPL(NAME(bench_sites_end))

	.section .modinfo, "a"
	.asciz	"license=GPL"
	.asciz	"description=Kprobes benchmark: sites to probe"
