// SPDX-License-Identifier: GPL-2.0
/*
 * How much free memory registering takes, per probe, beside the client's own
 * struct. Plain probes are measured in scale.c, which has 30,000 of them: code
 * is allocated two megabytes at a time, so that few would show anything.
 */
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/rcupdate.h>
#include <linux/vmalloc.h>
#include <linux/vmstat.h>
#include "bench.h"

#define PROBES	1000

/* Pages on the CPUs' own lists are free as well: thousands, at times. */
static u64 free_bytes(void)
{
	u64 pages = 0;
	int node, cpu;

	for_each_online_node(node) {
		struct zone *zones = NODE_DATA(node)->node_zones;
		unsigned int i;

		for (i = 0; i < MAX_NR_ZONES; i++) {
			if (!populated_zone(&zones[i]))
				continue;
			pages += zone_page_state_snapshot(&zones[i],
							  NR_FREE_PAGES);
			for_each_online_cpu(cpu)
				pages += per_cpu_ptr(zones[i].per_cpu_pageset,
						     cpu)->count;
		}
	}
	return pages << PAGE_SHIFT;
}

/* What is freed under way, a smaller table say, is free only after a while. */
static void settle(void)
{
	msleep(20 * MSEC_PER_SEC);
	rcu_barrier();
	vm_unmap_aliases();
}

u64 bench_memory_free(void)
{
	settle();
	return free_bytes();
}

/* Of what was FREE_BEFORE. */
u64 bench_memory_taken(u64 free_before)
{
	u64 now = bench_memory_free();

	return free_before > now ? free_before - now : 0;
}

void bench_memory_rows(void)
{
	struct kretprobe *probes = vcalloc(PROBES, sizeof(*probes));
	struct kretprobe **all = vcalloc(PROBES, sizeof(*all));
	int error = -ENOMEM;
	unsigned int i;
	u64 free, taken = 0;

	bench_figure("memory_struct_kprobe", "bytes", sizeof(struct kprobe), 1);
	bench_figure("memory_struct_kretprobe", "bytes",
		     sizeof(struct kretprobe), 1);
	if (!probes || !all)
		goto out;
	for (i = 0; i < PROBES; i++) {
		probes[i].kp.addr = (void *)(bench_function(i) + BENCH_ENTRY);
		probes[i].handler = bench_return;
		all[i] = &probes[i];
	}
	free = bench_memory_free();
	error = register_kretprobes(all, PROBES);
	taken = bench_memory_taken(free);
	if (!error)
		unregister_kretprobes(all, PROBES);
out:
	if (error)
		bench_failed("memory_return_probe", error);
	else
		bench_figure("memory_return_probe", "bytes", taken, PROBES);
	vfree(all);
	vfree(probes);
}
