/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations of C that only rust/kprobes/ needs, and of the functions of our C
 * and Rust files that call each other.
 */
#ifndef _RUST_KPROBES_GLUE_H
#define _RUST_KPROBES_GLUE_H

#include <asm/sections.h>
#include <linux/bug.h>
#include <linux/cfi.h>
#include <linux/cpu.h>
#include <linux/execmem.h>
#include <linux/extable.h>
#include <linux/ftrace.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kgdb.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/seq_file.h>
#include <linux/sort.h>
#include <linux/static_call.h>
#include <linux/text-patching.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>
#ifdef CONFIG_RUST_KPROBES_RETURNS
#include "returns/glue.h"
#endif
#ifdef CONFIG_X86
#include <asm/trapnr.h>
#include "../../arch/x86/kprobes/machine.h"
#ifdef CONFIG_RUST_KPROBES_KUNIT_TEST
#include "../../arch/x86/kprobes/detour_test.h"
#endif
#elif defined(CONFIG_S390)
#include "../../arch/s390/kprobes/machine.h"
#elif defined(CONFIG_ARM)
#include "../../arch/arm/kprobes/machine.h"
#endif

#ifdef CONFIG_RUST_KPROBES
/* The buffer size that sprint_symbol() needs. */
enum { RUST_KPROBES_SYMBOL_LEN = KSYM_SYMBOL_LEN };

/*
 * Exports a function of an abi.rs that <linux/kprobes.h> declares. checkpatch.pl
 * wants EXPORT_SYMBOL_GPL() after the body of a function, which C does not have.
 */
#define EXPORT_FROM_RUST(function) EXPORT_SYMBOL_GPL(function)

extern struct mutex rust_kprobes_mutex;
extern struct mutex rust_kprobes_slots_mutex;
extern const struct kprobe rust_kprobes_busy;

/*
 * Begins accesses to memory that may fault: no fault handler is called for that.
 * Preemption is off.
 */
static nokprobe_inline struct kprobe *rust_kprobes_nofault_begin(void)
{
	struct kprobe *running = kprobe_running();

	__this_cpu_write(current_kprobe, (struct kprobe *)&rust_kprobes_busy);
	pagefault_disable();
	return running;
}

/* Ends such accesses. @running is the value that the function above has returned. */
static nokprobe_inline void rust_kprobes_nofault_end(struct kprobe *running)
{
	pagefault_enable();
	__this_cpu_write(current_kprobe, running);
}

void rust_kprobes_cpus_read_lock(void);
void rust_kprobes_cpus_read_unlock(void);
void *rust_kprobes_slot_page(void);
void rust_kprobes_change_text(int (*change)(void *data), void *data);
void rust_kprobes_call_rcu_tasks(struct rcu_head *head, rcu_callback_t done);
void rust_kprobes_ksymbol(unsigned long page, bool gone, const char *name);
bool rust_kprobes_is_gate(unsigned long addr);
struct module *rust_kprobes_module_at(unsigned long addr, bool in_text);
bool rust_kprobes_module_get(struct module *module);
void rust_kprobes_module_put(struct module *module);
bool rust_kprobes_in_module(struct module *module, unsigned long addr,
			    bool init_only);
void rust_kprobes_cond_resched(void);
void rust_kprobes_registered_twice(void);
void rust_kprobes_forgotten(const struct module *module, bool init_only,
			    const struct kprobe *probe);
void rust_kprobes_unrecoverable(const struct kprobe *probe);

int rust_kprobes_jprobe_hit(struct kprobe *p, struct pt_regs *regs);
unsigned long rust_kprobes_jprobe_stack(void);
void rust_kprobes_jprobe_return_trap(void);	/* jprobe.S */
unsigned int rust_kprobes_interrupted_context(void);
void rust_kprobes_resched_soon(void);
size_t rust_kprobes_stack_left(unsigned long sp);
int *rust_kprobes_graph_pause_counter(void);
void rust_kprobes_graph_unpause(void);

#ifdef CONFIG_KPROBES_ON_FTRACE
extern struct ftrace_ops rust_kprobe_ftrace_ops[2];
#endif
void rust_kprobes_ftrace_hit(unsigned long ip, struct pt_regs *regs);
void rust_kprobes_ftrace_ipmodify_hit(unsigned long ip, struct pt_regs *regs);
bool rust_kprobes_has_trampoline(unsigned long ip);
bool rust_kprobes_shows_addresses(const struct seq_file *file);
int rust_kprobes_show(struct seq_file *file, unsigned int which);
int rust_kprobes_enable_all(bool on);
size_t rust_kprobes_step_faults(void);
void rust_kprobes_module_event(struct module *module, unsigned long state,
			       bool last);

/* The files in debugfs. The last one exists only with jumps. */
enum {
	RUST_KPROBES_LIST,
	RUST_KPROBES_ENABLED,
	RUST_KPROBES_BLACKLIST,
	RUST_KPROBES_REFUSED,
	RUST_KPROBES_COUNTERS,
	RUST_KPROBES_UNOPTIMIZED,
};

/* The kinds of text metadata at an address. */
enum {
	RUST_KPROBES_START,		/* of an instruction */
	RUST_KPROBES_JUMP_LABEL,
	RUST_KPROBES_STATIC_CALL,
	RUST_KPROBES_BUG,
	RUST_KPROBES_LABEL_TARGET,
	RUST_KPROBES_FIXUP_TARGET,
};

/* @len: the number of bytes that other code changes, or traps on. */
typedef void (*rust_kprobes_metadata_fn)(void *data, unsigned int kind,
					 const void *at, size_t len);
void rust_kprobes_text_metadata(struct module *module,
				rust_kprobes_metadata_fn tell, void *data);
typedef int (*rust_kprobes_symbol_fn)(void *data, const char *name,
				      unsigned long at);
int rust_kprobes_each_symbol(struct module *module, rust_kprobes_symbol_fn tell,
			     void *data);

extern struct exception_table_entry __start___ex_table[], __stop___ex_table[];
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
extern struct static_call_site __start_static_call_sites[];
extern struct static_call_site __stop_static_call_sites[];
#endif
#ifdef CONFIG_GENERIC_BUG
extern struct bug_entry __start___bug_table[], __stop___bug_table[];
#endif
/* kernel/module/internal.h */
extern struct mutex module_mutex;

/* jprobe.S */
void rust_kprobes_jprobe_enter(void);
void rust_kprobes_jprobe_handler_returned(void);

/* return.S and returns.c; the contract names them also if return probes are off. */
void arch_rethook_trampoline(void);
int rust_kprobes_this_cpu(void);
const struct llist_head *rust_kprobes_rethooks(void);

/* mm/kasan/kasan.h, for CONFIG_KASAN_GENERIC */
void *__asan_memcpy(void *dest, const void *src, ssize_t len);
void *__asan_memset(void *addr, int c, ssize_t len);
bool kasan_check_range(const void *addr, size_t size, bool write,
		       unsigned long ret_ip);
bool kasan_byte_accessible(const void *addr);

void rust_kprobes_detour_hit(const unsigned long *chain_word, struct pt_regs *regs);
void rust_kprobes_returned(struct pt_regs *regs);
void rust_kprobes_resched(void);
void rust_kprobes_worker_pass(void);
void rust_kprobes_allow_jumps(bool on);
bool rust_kprobes_jumps_allowed(void);
void rust_kprobes_wake_worker(void);
void rust_kprobes_wait_for_tasks(void);
extern struct delayed_work rust_kprobes_worker;

int rust_kprobes_init(void);
void rust_kprobes_preempt_disable(void);
void rust_kprobes_preempt_enable(void);
unsigned int rust_kprobes_context(void);
#ifdef CONFIG_RUST_KPROBES_CHECK_HANDLERS
u64 rust_kprobes_before_handler(void);
void rust_kprobes_after_handler(u64 before, unsigned long handler,
				unsigned long at, struct kprobe *probe);
bool rust_kprobes_is_registered(unsigned long at, struct kprobe *probe);
void rust_kprobes_frame_in_slot(void);
#endif
#endif /* CONFIG_RUST_KPROBES */

#endif /* _RUST_KPROBES_GLUE_H */
