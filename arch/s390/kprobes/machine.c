// SPDX-License-Identifier: GPL-2.0
/*
 * What Rust cannot ask of s390: macros and inline functions of C, which know
 * where the lowcore is, and what the CPU promises about changes of text.
 */
#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/set_memory.h>
#include <linux/smp.h>
#include <linux/stop_machine.h>
#include <linux/text-patching.h>
#include <linux/uaccess.h>

#include "../../../rust/kprobes/glue.h"

/* How far the data of this CPU is from the addresses of the linker. */
unsigned long __kprobes rust_kprobes_cpu_offset(void)
{
	return __my_cpu_offset;
}

/*
 * Copies a word, or a byte, from or to memory that may not be there, without
 * reporting a fault. Returns whether it has.
 */
bool __kprobes rust_kprobes_copy_nofault(void *to, const void *from, bool word)
{
	struct kprobe *running = rust_kprobes_nofault_begin();
	bool copied = false;

	if (word)
		__get_kernel_nofault(to, from, u64, fault);
	else
		__get_kernel_nofault(to, from, u8, fault);
	copied = true;
fault:
	rust_kprobes_nofault_end(running);
	return copied;
}

/* A CPU without facility 85 must not execute text that changes. */
bool __kprobes rust_kprobes_stops_cpus(void)
{
	return !cpu_has_seq_insn();
}

/*
 * Calls @change, which writes text by s390_kernel_write(), and returns when every
 * CPU executes the new text and has left each trap that began before.
 */
void __kprobes rust_kprobes_change_text(int (*change)(void *data), void *data)
{
	if (rust_kprobes_stops_cpus()) {
		stop_machine_cpuslocked(change, data, NULL);
	} else {
		change(data);
		text_poke_sync();
	}
}

/*
 * Replaces @ip and @sp, which are those of @regs, by the original ones if @ip is in
 * a copy of an instruction or in a detour.
 */
void __kprobes kprobe_unwind_original(const struct pt_regs *regs, unsigned long *ip,
				      unsigned long *sp)
{
#ifdef CONFIG_RUST_KPROBES_JUMPS
	/* The code that detours share has not made its frame yet. */
	if (*ip >= (unsigned long)rust_kprobes_detour &&
	    *ip < (unsigned long)rust_kprobes_detour_frame)
		*ip = READ_ONCE_NOCHECK(regs->gprs[14]);
#endif
	kprobe_original_frame(ip, sp);
}

#ifdef CONFIG_RUST_KPROBES_JUMPS
/*
 * Called by the code that all detours share, which loads the mask of @regs after that.
 * Interrupts are off while handlers run, as in those of breakpoints.
 */
void __kprobes rust_kprobes_jumped(const unsigned long *chain_word, struct pt_regs *regs)
{
	local_irq_disable();
	preempt_disable_notrace();
	rust_kprobes_detour_hit(chain_word, regs);
	preempt_enable_no_resched_notrace();
	if (raw_irqs_disabled_flags(regs->psw.mask))
		return;
	trace_hardirqs_on();
	if (should_resched(0)) {
		/* Not local_irq_restore(), which enables all if some are to be enabled. */
		__arch_local_irq_ssm(regs->psw.mask);
		rust_kprobes_resched();
	}
}
#endif

/* A page of slots, executable and read-only. */
void * __kprobes rust_kprobes_slot_page(void)
{
	void *page = execmem_alloc(EXECMEM_KPROBES, PAGE_SIZE);

	if (page)
		set_memory_rox((unsigned long)page, 1);
	return page;
}

/* The return from a program interruption preempts the task. */
void __kprobes rust_kprobes_resched_soon(void)
{
}

#ifdef CONFIG_KRETPROBES
/*
 * Called by the trampoline of return probes. preempt_enable_notrace() would call a
 * function that may have such a probe.
 */
void __kprobes rust_kprobes_return(struct pt_regs *regs)
{
	preempt_disable_notrace();
	rust_kprobes_returned(regs);
	preempt_enable_no_resched_notrace();
	if (should_resched(0))
		rust_kprobes_resched();
}
#endif
