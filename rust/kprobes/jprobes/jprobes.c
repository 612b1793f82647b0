// SPDX-License-Identifier: GPL-2.0
/*
 * The C side of jprobes: jprobe_return(), and questions about the stack,
 * interrupts and the function graph tracer that Rust cannot ask.
 */
#include <linux/export.h>
#include <linux/kasan.h>
#include <linux/sched.h>

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
	rust_kprobes_jprobe_return_trap();
}
EXPORT_SYMBOL_GPL(jprobe_return);

EXPORT_FROM_RUST(register_jprobe);
EXPORT_FROM_RUST(unregister_jprobe);
EXPORT_FROM_RUST(register_jprobes);
EXPORT_FROM_RUST(unregister_jprobes);
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
int * __kprobes rust_kprobes_graph_pause_counter(void)
{
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
	return &current->tracing_graph_pause.counter;
#else
	static int nothing;

	return &nothing;
#endif
}

void __kprobes rust_kprobes_graph_unpause(void)
{
	unpause_graph_tracing();
}
