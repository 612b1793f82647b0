// SPDX-License-Identifier: GPL-2.0
/*
 * What jprobes need of C: jprobe_return(), and what only C can say of a task's
 * stack and of its tracers.
 */
#include <linux/bug.h>
#include <linux/export.h>
#include <linux/ftrace.h>
#include <linux/hardirq.h>
#include <linux/irq_work.h>
#include <linux/kasan.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#ifdef CONFIG_X86
#include <asm/stacktrace.h>
#endif

#include "../glue.h"

/*
 * Ends the handler of a jprobe wherever it is, and does not return to it. Who is
 * not in one is told so.
 *
 * Frames that end so leave marks of KASAN's on the stack, which the function's
 * own frames would meet.
 */
void __kprobes jprobe_return(void)
{
	unsigned long stack = rust_kprobes_jprobe_stack();
	unsigned long here = current_stack_pointer;

	if (WARN(!stack, "%s() is called outside of a jprobe's handler\n", __func__))
		return;
	if (here < stack)
		kasan_unpoison_range((void *)here, stack - here);
	rust_kprobes_jprobe_over();
}
EXPORT_SYMBOL_GPL(jprobe_return);

#ifdef CONFIG_X86
/* A breakpoint counts as an NMI, see __preempt_count_nmi_enter(). */
unsigned int __kprobes rust_kprobes_interrupted_context(void)
{
	unsigned int count = preempt_count() - HARDIRQ_OFFSET;

#ifdef CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS
	count -= NMI_OFFSET;
#else
	if (__this_cpu_read(nmi_nesting) == 1)
		count &= ~NMI_MASK;
#endif
	return count & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET);
}

/* The end of its interrupt is what it is for. */
static void __kprobes nothing_to_do(struct irq_work *unused)
{
}

static DEFINE_PER_CPU(struct irq_work, makes_way) =
	IRQ_WORK_INIT_HARD(nothing_to_do);

/*
 * Called by a breakpoint's trap that ends what has kept the task on the CPU. Who
 * has wanted the CPU meanwhile was kept waiting, and the end of such a trap lets
 * nobody have it: an interrupt does that, as soon as there may be one. Where the
 * task stays for another reason, whoever ends that lets them have it.
 */
void __kprobes rust_kprobes_make_way(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPTION) || !need_resched())
		return;
	if (!(preempt_count() & (PREEMPT_MASK | SOFTIRQ_MASK)) &&
	    !rust_kprobes_interrupted_context())
		irq_work_queue(this_cpu_ptr(&makes_way));
}

/* From @sp up to the end of the stack, or of what is there for sure. */
size_t __kprobes rust_kprobes_stack_left(unsigned long sp)
{
	struct stack_info info;

	if (get_stack_info_noinstr((unsigned long *)sp, current, &info))
		return (unsigned long)info.end - sp;
	return PAGE_SIZE - offset_in_page(sp);
}
#endif

#ifdef CONFIG_KPROBES_ON_FTRACE
/*
 * BPF's trampoline of a function goes on where it is told to, but by then has
 * used registers of its own, and may want to have the CPU back.
 */
bool __kprobes rust_kprobes_has_trampoline(unsigned long ip)
{
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS
	return ftrace_find_rec_direct(ip);
#else
	return false;
#endif
}
#endif

/*
 * The function graph tracer counts on calls to return. What the handler calls
 * may never do so: it is held off, by an increment of this.
 */
int * __kprobes rust_kprobes_graph_pause(void)
{
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
	return &current->tracing_graph_pause.counter;
#else
	static int nothing;

	return &nothing;
#endif
}

void __kprobes rust_kprobes_graph_go_on(void)
{
	unpause_graph_tracing();
}

/* What jprobes/abi.rs defines and <linux/kprobes.h> declares. */
#define DEFINED_IN_RUST(function) EXPORT_SYMBOL_GPL(function)

DEFINED_IN_RUST(register_jprobe);
DEFINED_IN_RUST(unregister_jprobe);
DEFINED_IN_RUST(register_jprobes);
DEFINED_IN_RUST(unregister_jprobes);
