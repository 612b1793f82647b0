// SPDX-License-Identifier: GPL-2.0

#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>

#ifdef CONFIG_KPROBES
__rust_helper unsigned long
rust_helper_instruction_pointer(struct pt_regs *regs)
{
	return instruction_pointer(regs);
}

__rust_helper void
rust_helper_instruction_pointer_set(struct pt_regs *regs, unsigned long addr)
{
	instruction_pointer_set(regs, addr);
}

__rust_helper unsigned long
rust_helper_kernel_stack_pointer(struct pt_regs *regs)
{
	return kernel_stack_pointer(regs);
}

/*
 * Not named after the function, as bindgen would take arm's own function, which is
 * not exported. Only x86's function reads nothing behind the end of a stack if the
 * stack pointer is there.
 */
__rust_helper unsigned long
rust_helper_kprobe_stack_nth(struct pt_regs *regs, unsigned int n)
{
#ifndef CONFIG_X86
	if (n >= (-kernel_stack_pointer(regs) & (THREAD_SIZE - 1)) / sizeof(long))
		return 0;
#endif
	return regs_get_kernel_stack_nth(regs, n);
}

__rust_helper unsigned long
rust_helper_regs_get_register(struct pt_regs *regs, unsigned int offset)
{
	return regs_get_register(regs, offset);
}

__rust_helper unsigned long
rust_helper_regs_return_value(struct pt_regs *regs)
{
	return regs_return_value(regs);
}

#ifdef CONFIG_FUNCTION_ERROR_INJECTION
__rust_helper void
rust_helper_regs_set_return_value(struct pt_regs *regs, unsigned long value)
{
	regs_set_return_value(regs, value);
}
#endif

#ifdef CONFIG_TINY_RCU
__rust_helper bool
rust_helper_rcu_is_watching(void)
{
	return rcu_is_watching();
}
#endif

/* Returns the upper half of a value in two registers, which only arm has. */
__rust_helper unsigned long
rust_helper_regs_return_value_high(struct pt_regs *regs)
{
#ifdef CONFIG_ARM
	return regs->ARM_r1;
#else
	return 0;
#endif
}

/*
 * The stack pointer at a return. With C's kprobes on arm the registers are not
 * those of an exception: they are on the stack, just below the stack pointer.
 */
__rust_helper unsigned long
rust_helper_kretprobe_stack_pointer(struct pt_regs *regs)
{
#if defined(CONFIG_ARM) && !defined(CONFIG_RUST_KPROBES)
	return (unsigned long)&regs->ARM_cpsr;
#else
	return kernel_stack_pointer(regs);
#endif
}

/* Only for arguments in registers. */
__rust_helper unsigned long
rust_helper_regs_get_kernel_argument(struct pt_regs *regs, unsigned int n)
{
#ifdef CONFIG_ARM
	return regs->uregs[n];
#else
	return regs_get_kernel_argument(regs, n);
#endif
}

#ifdef CONFIG_KRETPROBES
__rust_helper struct kretprobe *
rust_helper_get_kretprobe(struct kretprobe_instance *ri)
{
	return get_kretprobe(ri);
}
#endif
#endif
