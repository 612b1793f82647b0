// SPDX-License-Identifier: GPL-2.0
/*
 * How much free memory registering takes, per probe, beside the client's own
 * struct. Plain probes are measured in scale.c, which has 30,000 of them: code
 * is allocated two megabytes at a time, so that few would show anything.
 */
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/vmalloc.h>
#include "bench.h"

#define PROBES	1000
#define HELD	(32 << 20)

static u64 free_bytes(void)
{
	struct sysinfo info;

	si_meminfo(&info);
	return (u64)info.freeram * info.mem_unit;
}

/* What is freed under way, a smaller table say, is free only after a while. */
static void settle(void)
{
	msleep(20 * MSEC_PER_SEC);
	rcu_barrier();
	vm_unmap_aliases();
}

/*
 * Pages that lie on a CPU's own lists are not counted as free. Memory that is
 * allocated before counting empties these lists.
 */
void bench_memory_start(struct bench_memory *memory)
{
	settle();
	memory->held = vmalloc(HELD);
	memory->free = free_bytes();
}

u64 bench_memory_taken(struct bench_memory *memory)
{
	void *more;
	u64 now;

	settle();
	more = vmalloc(HELD);
	now = free_bytes() + HELD;
	vfree(more);
	vfree(memory->held);
	return memory->free > now ? memory->free - now : 0;
}

void bench_memory_rows(void)
{
	struct kretprobe *probes = vcalloc(PROBES, sizeof(*probes));
	struct kretprobe **all = vcalloc(PROBES, sizeof(*all));
	struct bench_memory memory;
	int error = -ENOMEM;
	unsigned int i;
	u64 taken = 0;

	bench_figure("memory_struct_kprobe", "bytes", sizeof(struct kprobe), 1);
	bench_figure("memory_struct_kretprobe", "bytes",
		     sizeof(struct kretprobe), 1);
	if (!probes || !all)
		goto out;
	for (i = 0; i < PROBES; i++) {
		probes[i].kp.addr = (u8 *)bench_function(i) + BENCH_ENTRY;
		probes[i].handler = bench_return;
		all[i] = &probes[i];
	}
	bench_memory_start(&memory);
	error = register_kretprobes(all, PROBES);
	taken = bench_memory_taken(&memory);
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
