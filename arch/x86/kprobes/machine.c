// SPDX-License-Identifier: GPL-2.0
/*
 * What Rust cannot ask of x86: macros and inline functions of C, and what C's
 * headers say of a CPU.
 */
#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <asm/smap.h>
#include <asm/stacktrace.h>
#include <asm/vsyscall.h>

#include "../../../rust/kprobes/glue.h"

/*
 * Reads a word of memory that may not be there, without reporting a fault. An
 * access that SMAP forbids has no fixup: memory of user space is read only if
 * @lifted says that the probed instruction could read it.
 */
bool __kprobes rust_kprobes_copy_nofault(unsigned long *word, const unsigned long *at,
					 bool lifted)
{
	struct kprobe *running;
	unsigned long addr = (unsigned long)at;
	bool there = false;

	if ((addr < TASK_SIZE_MAX || (addr & PAGE_MASK) == VSYSCALL_ADDR) &&
	    boot_cpu_has(X86_FEATURE_SMAP) && !lifted)
		return false;
	running = rust_kprobes_nofault_begin();
	stac();
	__get_kernel_nofault(word, at, unsigned long, fault);
	there = true;
fault:
	clac();
	rust_kprobes_nofault_end(running);
	return there;
}

bool __kprobes rust_kprobes_has_five_levels(void)
{
	return boot_cpu_has(X86_FEATURE_LA57);
}

/* Allocates a page of slots, executable and read-only. */
void * __kprobes rust_kprobes_slot_page(void)
{
	return execmem_alloc(EXECMEM_KPROBES, PAGE_SIZE);
}

/* A breakpoint trap counts as an NMI; see __preempt_count_nmi_enter(). */
unsigned int __kprobes rust_kprobes_interrupted_context(void)
{
	return rust_kprobes_context() - NMI_OFFSET - HARDIRQ_OFFSET;
}

/* Returns the bytes from @sp to the end of the stack, or of the page if unknown. */
size_t __kprobes rust_kprobes_stack_left(unsigned long sp)
{
	struct stack_info info;

	if (get_stack_info_noinstr((unsigned long *)sp, current, &info))
		return (unsigned long)info.end - sp;
	return PAGE_SIZE - offset_in_page(sp);
}
