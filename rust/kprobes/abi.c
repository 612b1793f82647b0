// SPDX-License-Identifier: GPL-2.0
/*
 * The part in C: exports, initcalls, variables that C's macros define, and
 * out-of-line versions of C's macros and inline functions. They are in
 * .kprobes.text, since hits call some of them. glue.h includes most headers.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/export.h>
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/kernel.h>
#include <linux/kmsan-checks.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/static_call_types.h>
#include <linux/sysctl.h>
#include <kunit/visibility.h>

#include "glue.h"

DEFINE_PER_CPU(struct kprobe *, current_kprobe);
/* For get_kprobe_ctlblk() alone; ours is struct CpuHits of sys/this_cpu.rs. */
DEFINE_PER_CPU(struct kprobe_ctlblk, kprobe_ctlblk);

/* Guards the registry; see sys/lock.rs. */
DEFINE_MUTEX(rust_kprobes_mutex);

/* Guards the pools of slots; see slots.rs. */
DEFINE_MUTEX(rust_kprobes_slots_mutex);

/*
 * The current kprobe while no probe may be handled; see kprobe_busy_begin(). BPF
 * shows current_kprobe->addr to its programs.
 */
const struct kprobe rust_kprobes_busy = {
	.addr = (void *)get_kprobe,
};

/* <linux/kprobes.h> passes these to __is_insn_slot_addr(). */
struct kprobe_insn_cache kprobe_insn_slots;
#ifdef CONFIG_OPTPROBES
struct kprobe_insn_cache kprobe_optinsn_slots;
#endif

/* Not traced: a tracer may unwind the stack, which looks up return addresses. */
void __kprobes rust_kprobes_preempt_disable(void)
{
	preempt_disable_notrace();
}

void __kprobes rust_kprobes_preempt_enable(void)
{
	preempt_enable_notrace();
}

/* Returns the NMIs, hard interrupts and softirqs that the caller runs in. */
unsigned int __kprobes rust_kprobes_context(void)
{
	return preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET);
}

/*
 * Returns the same for the code that the caller, a breakpoint's trap, has
 * interrupted. A back end whose preempt_count() counts the trap has its own.
 */
unsigned int __weak __kprobes rust_kprobes_interrupted_context(void)
{
	return rust_kprobes_context();
}

/* Empty: the exit from the interrupt preempts the task. */
static void __kprobes resched_irq_work(struct irq_work *unused)
{
}

static DEFINE_PER_CPU(struct irq_work, resched_work) =
	IRQ_WORK_INIT_HARD(resched_irq_work);

/*
 * Called with interrupts off where preemption was turned on, and may be due. The
 * return from a breakpoint's trap does not preempt the task, so a pending reschedule
 * would wait for the next interrupt: raise one. A back end whose traps preempt has
 * its own.
 */
void __weak __kprobes rust_kprobes_resched_soon(void)
{
	if (IS_ENABLED(CONFIG_PREEMPTION) && need_resched() &&
	    !rust_kprobes_interrupted_context())
		irq_work_queue(this_cpu_ptr(&resched_work));
}

/* Returns the bytes from @sp to the end of a stack that is aligned to its size. */
size_t __weak __kprobes rust_kprobes_stack_left(unsigned long sp)
{
	return -sp & (THREAD_SIZE - 1);
}

/* C defines these as macros or inline functions, by the configuration. */
void __kprobes rust_kprobes_cpus_read_lock(void)
{
	cpus_read_lock();
}

void __kprobes rust_kprobes_cpus_read_unlock(void)
{
	cpus_read_unlock();
}

/*
 * Preempts the task at the end of a detour or a return probe's trampoline, unless
 * interrupts are off (which the flags do not tell in a guest of Xen). The scheduler
 * is called with interrupts off: if the scheduler hits a probe with a jump, the
 * end of that detour does not call the scheduler again.
 */
void __kprobes rust_kprobes_resched(void)
{
	if (irqs_disabled())
		return;
	local_irq_disable();
	preempt_schedule_irq();
	local_irq_enable();
}

void __weak __kprobes rust_kprobes_call_rcu_tasks(struct rcu_head *head, rcu_callback_t done)
{
	call_rcu_tasks(head, done);
}

void __kprobes rust_kprobes_ksymbol(unsigned long page, bool gone, const char *name)
{
	perf_event_ksymbol(PERF_RECORD_KSYMBOL_TYPE_OOL, page, PAGE_SIZE, gone, name);
}

bool __kprobes rust_kprobes_is_gate(unsigned long addr)
{
	return in_gate_area_no_mm(addr);
}

/* Returns the module that has @addr, or has it in its text. */
struct module * __kprobes rust_kprobes_module_at(unsigned long addr, bool in_text)
{
	return in_text ? __module_text_address(addr) : __module_address(addr);
}

bool __kprobes rust_kprobes_module_get(struct module *module)
{
	return try_module_get(module);
}

void __kprobes rust_kprobes_module_put(struct module *module)
{
	module_put(module);
}

bool __kprobes rust_kprobes_in_module(struct module *module, unsigned long addr,
				      bool init_only)
{
	return within_module_init(addr, module) ||
	       (!init_only && within_module_core(addr, module));
}

void __kprobes rust_kprobes_cond_resched(void)
{
	cond_resched();
}

void __kprobes rust_kprobes_registered_twice(void)
{
	WARN_ON_ONCE(1);
}

/* Warns: memory of a module that has the probe or a handler is freed. */
void __kprobes rust_kprobes_forgotten(const struct module *module,
				      bool init_only,
				      const struct kprobe *probe)
{
	pr_warn("module %s %s while its probe at %pS is registered: unregistering it\n",
		module->name,
		init_only ? "frees its init memory" : "is unloaded",
		probe->addr);
}

/* Stops the kernel: a probe is on code that handles hits. */
void __kprobes rust_kprobes_unrecoverable(const struct kprobe *probe)
{
	pr_err("Unrecoverable kprobe detected.\n");
	if (probe)
		dump_kprobe((struct kprobe *)probe);
	/* The CPU cannot continue; C calls BUG() here, too. */
	BUG();
}

void __kprobes dump_kprobe(struct kprobe *kp)
{
	pr_err("Dump kprobe:\n.symbol_name = %s, .offset = %x, .addr = %pS\n",
	       kp->symbol_name, kp->offset, kp->addr);
}

#ifdef CONFIG_KPROBES_ON_FTRACE
bool kprobe_ftrace_disabled __read_mostly;

static __always_inline void ftrace_hit(unsigned long ip,
				       struct ftrace_regs *fregs, bool ipmodify)
{
	struct pt_regs *regs = ftrace_get_regs(fregs);

	if (unlikely(kprobe_ftrace_disabled) || !regs)
		return;
	/* Assembly has written them, which KMSAN does not see. */
	kmsan_unpoison_memory(fregs, ftrace_regs_size());
	/*
	 * Needs no ftrace_test_recursion_trylock(): ftrace calls this from probed
	 * functions only, of which a hit calls none but in handlers, and a CPU
	 * that is in one misses the hit.
	 */
	preempt_disable_notrace();
	if (ipmodify)
		rust_kprobes_ftrace_ipmodify_hit(ip, regs);
	else
		rust_kprobes_ftrace_hit(ip, regs);
	preempt_enable_notrace();
}

static void __kprobes ftrace_plain(unsigned long ip, unsigned long parent_ip,
				   struct ftrace_ops *ops,
				   struct ftrace_regs *fregs)
{
	ftrace_hit(ip, fregs, false);
}

static void __kprobes ftrace_ipmodify(unsigned long ip, unsigned long parent_ip,
				      struct ftrace_ops *ops,
				      struct ftrace_regs *fregs)
{
	ftrace_hit(ip, fregs, true);
}

/* Our plain user and our IPMODIFY user: see sys/ftrace.rs. */
struct ftrace_ops rust_kprobe_ftrace_ops[2] __read_mostly = {
	{
		.func = ftrace_plain,
		.flags = FTRACE_OPS_FL_SAVE_REGS,
	}, {
		.func = ftrace_ipmodify,
		.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY,
	},
};
#endif

#ifdef CONFIG_MODULES
static int __kprobes kprobes_module_event(struct notifier_block *nb,
					  unsigned long state, void *module)
{
	rust_kprobes_module_event(module, state, nb->priority == INT_MIN);
	return NOTIFY_DONE;
}

static struct notifier_block module_events[] = {
	/*
	 * Probes on a module's text are accepted from this notifier on. If
	 * the load fails, the last notifier may not be called. This one is
	 * first so that other notifiers can register probes.
	 */
	{ .notifier_call = kprobes_module_event, .priority = INT_MAX },
	/* All other notifiers have sorted the module's tables by then. */
	{ .notifier_call = kprobes_module_event, .priority = INT_MIN },
};

static int __init register_kprobes_module_events(void)
{
	return register_module_notifier(&module_events[0]) ?:
	       register_module_notifier(&module_events[1]);
}
early_initcall(register_kprobes_module_events);
#endif

#ifdef ARCH_HAS_RELATIVE_EXTABLE
#define IN_EXTABLE(field)	offset_to_ptr(&(field))
#else
#define IN_EXTABLE(field)	((const void *)(field))
#endif

/*
 * The tables of a module, or of the kernel for NULL. With CONFIG_MODULES=n
 * struct module has none of these members.
 */
#ifdef CONFIG_MODULES
#define OF(module, in_module, in_kernel)	\
	((module) ? (module)->in_module : (in_kernel))
#else
#define OF(module, in_module, in_kernel)	(in_kernel)
#endif

#define for_each_entry(entry, module, first, count, table)		\
	for (entry = OF(module, first, __start_##table);		\
	     entry < OF(module, first + (module)->count, __stop_##table);	\
	     entry++)

static void __kprobes each_fixup(struct module *module,
				 rust_kprobes_metadata_fn tell, void *data)
{
	struct exception_table_entry *entry;

#ifdef CONFIG_MODULES
	/* trim_init_extable() holds the mutex while it moves the table's ends. */
	guard(mutex)(&module_mutex);
#endif
	for_each_entry(entry, module, extable, num_exentries, __ex_table) {
		tell(data, RUST_KPROBES_START, IN_EXTABLE(entry->insn), 0);
		tell(data, RUST_KPROBES_FIXUP_TARGET, IN_EXTABLE(entry->fixup), 0);
	}
}

#ifdef CONFIG_JUMP_LABEL
static void __kprobes each_jump_label(struct module *module,
				      rust_kprobes_metadata_fn tell, void *data)
{
	bool init_gone = OF(module, state != MODULE_STATE_COMING,
			    system_state >= SYSTEM_FREEING_INITMEM);
	struct jump_entry *entry;

	/* jump_label.c holds the lock while it sorts or changes entries. */
	guard(jump_label_lock)();
	for_each_entry(entry, module, jump_entries, num_jump_entries, __jump_table) {
		/* jump_entry_size() reads the instruction, which was freed. */
		if (init_gone && jump_entry_is_init(entry))
			continue;
		tell(data, RUST_KPROBES_JUMP_LABEL,
		     (void *)jump_entry_code(entry), jump_entry_size(entry));
		tell(data, RUST_KPROBES_LABEL_TARGET,
		     (void *)jump_entry_target(entry), 0);
	}
}
#endif

/* Calls @tell for all table entries of a module, or of the kernel for NULL. */
void __kprobes rust_kprobes_text_metadata(struct module *module,
					  rust_kprobes_metadata_fn tell, void *data)
{
	each_fixup(module, tell, data);
#ifdef CONFIG_JUMP_LABEL
	each_jump_label(module, tell, data);
#endif
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	struct static_call_site *site;

	for_each_entry(site, module, static_call_sites, num_static_call_sites,
		       static_call_sites)
		tell(data, RUST_KPROBES_STATIC_CALL,
		     offset_to_ptr(&site->addr), CALL_INSN_SIZE);
#endif
#ifdef CONFIG_GENERIC_BUG
	struct bug_entry *bug;

	for_each_entry(bug, module, bug_table, num_bugs, __bug_table)
#ifdef CONFIG_GENERIC_BUG_RELATIVE_POINTERS
		tell(data, RUST_KPROBES_BUG, offset_to_ptr(&bug->bug_addr_disp), 1);
#else
		tell(data, RUST_KPROBES_BUG, (void *)bug->bug_addr, 1);
#endif
#endif
}

/* Calls @tell for each symbol of a module, or of the kernel for NULL. */
int __kprobes rust_kprobes_each_symbol(struct module *module,
				       rust_kprobes_symbol_fn tell, void *data)
{
	if (!module)
		return kallsyms_on_each_symbol(tell, data);
	return module_kallsyms_on_each_symbol(module->name, tell, data);
}

#ifdef CONFIG_KASAN_GENERIC
/*
 * KASAN calls these for a copy of more than a word. The end of a step makes such a
 * copy, so a hit of a probe on them would never end.
 */
NOKPROBE_SYMBOL(__asan_memcpy);
NOKPROBE_SYMBOL(kasan_check_range);
/* The hit and the end of a jprobe call these. */
NOKPROBE_SYMBOL(__asan_memset);
NOKPROBE_SYMBOL(__kasan_check_write);
#endif

/* Runs a pass of the worker; see sys/worker.rs. */
static void __kprobes run_worker_pass(struct work_struct *unused)
{
	rust_kprobes_worker_pass();
}

DECLARE_DELAYED_WORK(rust_kprobes_worker, run_worker_pass);

/* Queues the worker, in a few ticks. A queued pass is not put off. */
void __kprobes rust_kprobes_wake_worker(void)
{
	queue_delayed_work(system_long_wq, &rust_kprobes_worker, 5);
}

#ifdef CONFIG_RUST_KPROBES_JUMPS
/* Without noinstr, Tasks RCU does not wait for probed code of idle tasks. */
void __kprobes rust_kprobes_wait_for_tasks(void)
{
	synchronize_rcu_tasks();
#ifndef CONFIG_ARCH_WANTS_NO_INSTR
	synchronize_rcu_tasks_rude();
#endif
}

#ifdef CONFIG_SYSCTL
static int jumps_allowed;
static DEFINE_MUTEX(allowed_mutex);

static int __kprobes set_jumps_allowed(const struct ctl_table *table, int write,
				       void *buffer, size_t *length, loff_t *ppos)
{
	int ret;

	guard(mutex)(&allowed_mutex);
	jumps_allowed = rust_kprobes_jumps_allowed();
	ret = proc_dointvec_minmax(table, write, buffer, length, ppos);
	if (!ret && write)
		rust_kprobes_allow_jumps(jumps_allowed);
	return ret;
}

#define JUMPS_SWITCH(name) {				\
		.procname	= name,			\
		.data		= &jumps_allowed,	\
		.maxlen		= sizeof(jumps_allowed), \
		.mode		= 0644,			\
		.proc_handler	= set_jumps_allowed,	\
		.extra1		= SYSCTL_ZERO,		\
		.extra2		= SYSCTL_ONE,		\
	}

/* The name that C has, and the name that C's documentation gives. */
static const struct ctl_table sysctls[] = {
	JUMPS_SWITCH("kprobes-optimization"),
	JUMPS_SWITCH("kprobes_optimization"),
};

#endif

static int __init allow_jumps(void)
{
	rust_kprobes_allow_jumps(true);
#ifdef CONFIG_SYSCTL
	register_sysctl_init("debug", sysctls);
#endif
	return 0;
}
subsys_initcall(allow_jumps);

EXPORT_FROM_RUST(kprobe_why_no_jump);
#endif

early_initcall(rust_kprobes_init);

/* Defined in abi.rs for tests. */
EXPORT_SYMBOL_IF_KUNIT(rust_kprobes_step_faults);

EXPORT_FROM_RUST(register_kprobe);
EXPORT_FROM_RUST(unregister_kprobe);
EXPORT_FROM_RUST(register_kprobes);
EXPORT_FROM_RUST(unregister_kprobes);
EXPORT_FROM_RUST(disable_kprobe);
EXPORT_FROM_RUST(enable_kprobe);

#ifndef CONFIG_KRETPROBES
int __kprobes register_kretprobe(struct kretprobe *rp)
{
	return -EOPNOTSUPP;
}

int __kprobes register_kretprobes(struct kretprobe **rps, int num)
{
	return -EOPNOTSUPP;
}

void __kprobes unregister_kretprobe(struct kretprobe *rp)
{
}

void __kprobes unregister_kretprobes(struct kretprobe **rps, int num)
{
}
#endif
EXPORT_FROM_RUST(register_kretprobe);
EXPORT_FROM_RUST(unregister_kretprobe);
EXPORT_FROM_RUST(register_kretprobes);
EXPORT_FROM_RUST(unregister_kretprobes);
