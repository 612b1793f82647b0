// SPDX-License-Identifier: GPL-2.0
/*
 * The C side of jprobes: jprobe_return(), and questions about the stack,
 * interrupts and the function graph tracer that Rust cannot ask.
 */
#include <linux/export.h>
#include <linux/hardirq.h>
#include <linux/irq_work.h>
#include <linux/kasan.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#ifdef CONFIG_X86
#include <asm/stacktrace.h>
#endif

#include "../glue.h"

#ifdef CONFIG_RUST_KPROBES_JPROBES
/*
 * Ends the handler of a jprobe, at any depth of calls, and does not return.
 *
 * The skipped frames have left KASAN's redzones on the stack. The probed function
 * would run into them.
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

/* Defined in jprobes/abi.rs, declared in <linux/kprobes.h>. */
#define DEFINED_IN_RUST(function) EXPORT_SYMBOL_GPL(function)

DEFINED_IN_RUST(register_jprobe);
DEFINED_IN_RUST(unregister_jprobe);
DEFINED_IN_RUST(register_jprobes);
DEFINED_IN_RUST(unregister_jprobes);
#endif

#ifdef CONFIG_X86
/* A breakpoint trap counts as an NMI; see __preempt_count_nmi_enter(). */
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

/* The end of the interrupt is enough: it may preempt the task. */
static void __kprobes nothing_to_do(struct irq_work *unused)
{
}

static DEFINE_PER_CPU(struct irq_work, resched_work) =
	IRQ_WORK_INIT_HARD(nothing_to_do);

/*
 * Called by the trap at the end of a jprobe's handler, which has turned
 * preemption on again. The return from a breakpoint's trap does not preempt the
 * task, so a pending reschedule would wait for the next interrupt: raise one. If
 * preemption is off for another reason too, the end of that reschedules.
 */
void __kprobes rust_kprobes_resched_soon(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPTION) || !need_resched())
		return;
	if (!(preempt_count() & (PREEMPT_MASK | SOFTIRQ_MASK)) &&
	    !rust_kprobes_interrupted_context())
		irq_work_queue(this_cpu_ptr(&resched_work));
}

/* Returns the bytes from @sp to the end of the stack, or of the page if unknown. */
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
 * Returns whether ftrace calls a trampoline from @ip, such as BPF's. It may change
 * registers before the function, and expect the function to return to it.
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
 * The function graph tracer expects each call to return, but the calls of a
 * jprobe's handler may not. An increment of this counter pauses the tracer.
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
