// SPDX-License-Identifier: GPL-2.0
/*
 * Finds handlers that sleep, and tasks that wait in a copy of an instruction. Both
 * would wake up in memory that may be freed.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/init.h>
/* For <linux/sched/numa_balancing.h>, which the tracepoints include. */
#include <linux/mm_types.h>
#include <linux/stacktrace.h>
#include <trace/events/sched.h>

#include "../glue.h"

/* Returns the CPU and the preemption count that a handler is called with. */
u64 __kprobes rust_kprobes_before_handler(void)
{
	return (u64)raw_smp_processor_id() << 32 | (u32)preempt_count();
}

/*
 * A handler has returned with another preemption count than it was called with:
 * the handler has slept. Its probe may have been unregistered and freed meanwhile,
 * so nothing is read from @probe. If the probe is gone, the detour that the
 * handler would return to may be gone too.
 */
static noinline void __kprobes
handler_slept(u64 before, unsigned long handler, unsigned long at,
	      struct kprobe *probe)
{
	static bool warned;
	int after = preempt_count();
	bool stays;

	preempt_count_set((u32)before);
	/* Without this, the CPU that called the handler misses all further hits. */
	WRITE_ONCE(per_cpu(current_kprobe, before >> 32), NULL);
	stays = rust_kprobes_is_registered(at, probe);
	if (stays && warned)
		return;
	warned = true;
	pr_err("handler %pS of the probe at %pS has changed the preemption count from %#x to %#x: handlers must not sleep\n",
	       (void *)handler, (void *)at, (u32)before, after);
	BUG_ON(!stays);
	WARN_ON(1);
}

void __kprobes rust_kprobes_after_handler(u64 before, unsigned long handler,
					  unsigned long at, struct kprobe *probe)
{
	if (unlikely((u32)preempt_count() != (u32)before))
		handler_slept(before, handler, at, probe);
}

/* Whether the stack that this CPU unwinds has a frame in a slot. */
static DEFINE_PER_CPU(bool, frame_in_slot);

void __kprobes rust_kprobes_frame_in_slot(void)
{
	if (!in_nmi())
		this_cpu_write(frame_in_slot, true);
}

/*
 * A slot is freed after a grace period of Tasks RCU, so a task with a frame in a
 * slot must not wait. Unwinders report a frame in a copy by
 * kprobe_original_frame(). A frame in a detour has an address in shared code.
 */
static void __kprobes
check_waiting_task(void *data, bool preempt, struct task_struct *prev,
		   struct task_struct *next, unsigned int prev_state)
{
	unsigned long entries[64], count __maybe_unused;
	bool waits;

	if (preempt || !prev_state)
		return;
	this_cpu_write(frame_in_slot, false);
	count = stack_trace_save(entries, ARRAY_SIZE(entries), 0);
	waits = this_cpu_read(frame_in_slot);
#ifdef CONFIG_RUST_KPROBES_JUMPS
	for (unsigned long i = 0; i < count; i++)
		waits |= entries[i] >= (unsigned long)rust_kprobes_detour &&
			 entries[i] < (unsigned long)rust_kprobes_detour_end;
#endif
	/* The run queue is locked, so the console must not wake a task. */
	printk_deferred_enter();
	WARN_ONCE(waits,
		  "kprobes: %s waits in a copy of a probed instruction, whose memory may be freed\n",
		  prev->comm);
	printk_deferred_exit();
}

static int __init check_waiting_tasks(void)
{
	return register_trace_sched_switch(check_waiting_task, NULL);
}
early_initcall(check_waiting_tasks);
