// SPDX-License-Identifier: GPL-2.0
/*
 * What Rust cannot ask of arm: macros and inline functions of C, and what RCU
 * needs where idle CPUs run code that can be probed.
 */
#include <linux/context_tracking.h>
#include <linux/highmem.h>
#include <linux/kprobes.h>
#include <linux/llist.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/set_memory.h>
#include <linux/smp.h>
#include <linux/stop_machine.h>
#include <linux/string.h>
#include <linux/text-patching.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <asm/fiq.h>
#include <asm/opcodes.h>
#include <asm/stacktrace.h>

#include "../../../rust/kprobes/glue.h"

/* The hit of a jprobe and its end copy all registers by this. */
NOKPROBE_SYMBOL(memcpy);
/* They run in other modes, to access their registers. */
NOKPROBE_SYMBOL(cpu_init);
#ifdef CONFIG_FIQ
NOKPROBE_SYMBOL(__set_fiq_regs);
NOKPROBE_SYMBOL(__get_fiq_regs);
#endif

/* A CPU that comes up runs them before cpu_init(). */
#ifdef CONFIG_SMP
NOKPROBE_SYMBOL(secondary_start_kernel);
NOKPROBE_SYMBOL(_set_bit);
#endif
NOKPROBE_SYMBOL(cpu_v7_proc_init);
NOKPROBE_SYMBOL(cpu_v7_switch_mm);
NOKPROBE_SYMBOL(cpu_v7_iciallu_switch_mm);
NOKPROBE_SYMBOL(cpu_v7_bpiall_switch_mm);
#if defined(CONFIG_ARM_PSCI) && defined(CONFIG_HARDEN_BRANCH_PREDICTOR)
NOKPROBE_SYMBOL(cpu_v7_smc_switch_mm);
NOKPROBE_SYMBOL(cpu_v7_hvc_switch_mm);
#endif

/* They read where a fault was. A handler's fault would replace that. */
NOKPROBE_SYMBOL(v7_early_abort);
NOKPROBE_SYMBOL(v7_pabort);

#ifdef CONFIG_PREEMPTION
/* The way into and out of an undefined instruction calls it. */
NOKPROBE_SYMBOL(preempt_schedule_notrace);
#endif

/*
 * Called by do_undefinstr() for an undefined instruction in SVC mode, with
 * interrupts off. RCU may not watch an idle CPU. It watches during the hit, so a
 * grace period waits for hits, and handlers may use RCU.
 */
bool __kprobes kprobe_undefinstr(struct pt_regs *regs)
{
	bool rcu = warn_rcu_enter();
	bool ours = rust_kprobes_undefined(regs);

	warn_rcu_exit(rcu);
	return ours;
}

/*
 * Writes an instruction to text, or several to a slot. Text is read-only, so another
 * mapping is written to. Pages of modules and of slots have one; for the kernel's
 * text, __patch_text() makes one, which costs all CPUs an entry of their TLBs.
 */
void __kprobes rust_kprobes_write(unsigned long at, const void *code, size_t len)
{
	size_t n, here = min(len, PAGE_SIZE - offset_in_page(at));
	const u16 *from = code;
	u16 *to;

	if (!is_vmalloc_or_module_addr((void *)at)) {
		u32 insn = get_unaligned(from);

		if (!IS_ENABLED(CONFIG_THUMB2_KERNEL))
			insn = get_unaligned((u32 *)code);
		else if (len == sizeof(insn))
			insn = __opcode_thumb32_compose(insn, get_unaligned(from + 1));
		__patch_text((void *)at, insn);
		return;
	}
	to = kmap_local_page(vmalloc_to_page((void *)at)) + offset_in_page(at);
	for (n = 0; n < here / sizeof(*to); n++)
		WRITE_ONCE(to[n], get_unaligned(from + n));
	kunmap_local(to);
	flush_icache_range(at, at + here);
	/* An instruction of Thumb may be in two pages. */
	if (here < len)
		rust_kprobes_write(at + here, code + here, len - here);
}

static void __kprobes discard_fetched(void *unused)
{
	isb();
}

/*
 * Calls @change, which writes text, while all other CPUs are stopped. Each CPU then
 * discards what it has fetched before.
 */
void __kprobes rust_kprobes_change_text(int (*change)(void *data), void *data)
{
	stop_machine_cpuslocked(change, data, NULL);
	on_each_cpu(discard_fetched, NULL, true);
}

/*
 * Replaces the registers of an interrupted copy of an instruction, or of a detour,
 * by those of the probed code, and those of the trampoline of return probes by
 * those of the caller that the function returns to.
 */
void __kprobes kprobe_unwind_original(struct stackframe *frame)
{
	const struct pt_regs *saved = (struct pt_regs *)frame->sp;
	unsigned long pc;

#ifdef CONFIG_KRETPROBES
	/* The trampoline of return probes has no frame yet: FRAME_SIZE is in return.S. */
	pc = (frame->pc & ~1) - ((unsigned long)arch_rethook_trampoline & ~1);
	if (pc < (unsigned long)rust_kprobes_return_frame -
		 ((unsigned long)arch_rethook_trampoline & ~1)) {
		frame->sp += pc ? sizeof(*saved) + 8 : 0;
		frame->pc = kretprobe_find_ret_addr(frame->tsk ?: current,
						    (void *)frame->sp, &frame->kr_cur);
	}
#endif
#ifdef CONFIG_RUST_KPROBES_JUMPS
	/* The code that detours share: LR is in the detour while there is no frame. */
	if (frame->pc - (unsigned long)rust_kprobes_detour <
	    rust_kprobes_detour_frame - rust_kprobes_detour ||
	    (unsigned long)rust_kprobes_detour_end - 1 - frame->pc < 8)
		frame->pc = frame->lr;
#endif
	pc = frame->pc;
	/* At the call of that code in the detour, and after it, LR is saved. */
	if (kprobe_original_frame(&frame->pc, &frame->sp) && frame->lr - pc < 8)
		frame->lr = READ_ONCE_NOCHECK(saved->ARM_lr);
}

/*
 * Called by the code that all detours share, and by the trampoline of return probes
 * with @chain_word NULL. As in a hit of a breakpoint, RCU watches, and user memory is
 * closed if the probed code has opened it. A detour, like C's, has interrupts off,
 * and loads the CPSR of @regs after that.
 */
void __kprobes rust_kprobes_call_handlers(const unsigned long *chain_word,
					  struct pt_regs *regs)
{
	unsigned long psr = regs->ARM_cpsr;
	unsigned int domain = get_domain();
	bool rcu;

	if (chain_word)
		local_irq_disable();
	preempt_disable_notrace();
	if (IS_ENABLED(CONFIG_CPU_SW_DOMAIN_PAN))
		set_domain(DACR_UACCESS_DISABLE);
	rcu = warn_rcu_enter();
	if (IS_ENABLED(CONFIG_RUST_KPROBES_JUMPS) && chain_word) {
		rust_kprobes_detour_hit(chain_word, regs);
		psr = regs->ARM_cpsr;
	} else if (IS_ENABLED(CONFIG_KRETPROBES)) {
		rust_kprobes_returned(regs);
	}
	warn_rcu_exit(rcu);
	if (IS_ENABLED(CONFIG_CPU_SW_DOMAIN_PAN))
		set_domain(domain);
	/*
	 * Only an interrupt may preempt the task: it saves whether user memory may be
	 * accessed, which a switch of tasks does not. irq_work_queue() would switch
	 * tasks if interrupts were on, and it may be probed.
	 */
	raw_local_irq_disable();
	preempt_enable_no_resched_notrace();
	if (need_resched() && !raw_irqs_disabled_flags(psr))
		rust_kprobes_resched_soon();
	local_irq_restore(psr);
}

/* A page of slots, executable and, if the kernel's text is, read-only. */
void * __kprobes rust_kprobes_slot_page(void)
{
	void *page = execmem_alloc(EXECMEM_KPROBES, PAGE_SIZE);

	if (page && IS_ENABLED(CONFIG_STRICT_MODULE_RWX))
		set_memory_rox((unsigned long)page, 1);
	return page;
}

/* Slots that tasks may be in, and the callback that frees them. */
static LLIST_HEAD(left_slots);
static rcu_callback_t free_slots;

static void __kprobes wait_for_idle_tasks(struct work_struct *unused)
{
	struct llist_node *node, *next;

	node = llist_del_all(&left_slots);
	synchronize_rcu_tasks_rude();
	llist_for_each_safe(node, next, node)
		free_slots((struct rcu_head *)node);
}

static DECLARE_WORK(idle_tasks_work, wait_for_idle_tasks);

static void __kprobes tasks_have_left(struct rcu_head *head)
{
	BUILD_BUG_ON(sizeof(struct llist_node) > sizeof(*head));
	if (llist_add((struct llist_node *)head, &left_slots))
		queue_work(system_long_wq, &idle_tasks_work);
}

/*
 * Tasks RCU does not wait for idle tasks, and these may run code that can be
 * probed: Tasks Rude RCU waits for them after that. All callers pass one function.
 */
void __kprobes rust_kprobes_call_rcu_tasks(struct rcu_head *head, rcu_callback_t done)
{
	free_slots = done;
	call_rcu_tasks(head, tasks_have_left);
}

/* Reads 1, 2 or 4 bytes. The kernel takes a fault. */
u32 __kprobes rust_kprobes_read(unsigned long at, u8 size)
{
	return size == 1 ? READ_ONCE(*(u8 *)at) :
	       size == 2 ? READ_ONCE(*(u16 *)at) : READ_ONCE(*(u32 *)at);
}

/*
 * Reads a word, or writes it, for the emulation of an instruction. Returns false if
 * that would fault, or if the memory is not the kernel's.
 */
bool __kprobes rust_kprobes_try_word(u32 *word, unsigned long at, bool write)
{
	struct kprobe *running;
	bool there = false;

	if (at < TASK_SIZE || at & (sizeof(*word) - 1))
		return false;
	running = rust_kprobes_nofault_begin();
	if (write)
		__put_kernel_nofault((u32 *)at, word, u32, fault);
	else
		__get_kernel_nofault(word, (u32 *)at, u32, fault);
	there = true;
fault:
	rust_kprobes_nofault_end(running);
	return there;
}
