// SPDX-License-Identifier: GPL-2.0
/*
 * Code for the kernel crate's interface of kprobes (rust/kernel/kprobes.rs) that
 * cannot be written in Rust: a lock and a list that are initialized at build time,
 * an initcall, and macros.
 *
 * Rust code may forget a registration, which is safe, and its module may be
 * unloaded then. All registrations are in a list. When a module is unloaded, after
 * its exit function has run and before its text is freed, the probes that it has
 * left are unregistered.
 */
#define pr_fmt(fmt) "rust_kernel: kprobes: " fmt

#include <linux/btf.h>
#include <linux/bug.h>
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/tlb.h>
#include "kprobes_clients.h"

/*
 * The registered clients, and the clients whose module was unloaded. The memory of
 * the latter is not freed, as other code may have kept a reference to it.
 */
static LIST_HEAD(clients);
static LIST_HEAD(gone_clients);
static DEFINE_MUTEX(clients_mutex);

/*
 * Returns whether the caller may sleep. Handlers may not, also in kernels that do
 * not count disabled preemption.
 */
bool rust_kprobes_may_block(void)
{
	bool handler;

	preempt_disable_notrace();
	handler = kprobe_running();
	preempt_enable_notrace();
	return !handler && !preempt_count() && !irqs_disabled() &&
	       !rcu_preempt_depth();
}

/* Returns whether another part of the kernel changes or reads the code at @addr. */
bool rust_kprobes_is_reserved(unsigned long addr)
{
	void *at = (void *)addr;
	bool reserved;

	jump_label_lock();
	reserved = jump_label_text_reserved(at, at) ||
		   static_call_text_reserved(at, at) || find_bug(addr);
	jump_label_unlock();
	return reserved;
}

/*
 * Returns whether the function at @addr ends the task: there is no code behind the
 * calls of these system calls on x86, so they must not return.
 */
bool rust_kprobes_ends_task(unsigned long addr)
{
	char name[KSYM_SYMBOL_LEN], *found;

	sprint_symbol_no_offset(name, addr);
	found = strstr(name, "_sys_exit");
	return found && (!found[9] || !strcmp(found + 9, "_group"));
}

#ifdef CONFIG_DEBUG_INFO_BTF
/* Returns whether the types are those of the kernel or module that has @addr. */
static bool is_of(const struct btf *btf, unsigned long addr)
{
	struct module *owner;

	guard(rcu)();
	owner = __module_address(addr);
	return owner ? !strcmp(btf_get_name(btf), owner->name) :
		       btf_is_vmlinux(btf);
}

static int parameters_of(const struct btf *btf, u32 id, u32 *sizes,
			 unsigned int room)
{
	const struct btf_type *type = btf_type_by_id(btf, id);
	const struct btf_param *params;
	unsigned int n, count;

	type = type ? btf_type_by_id(btf, type->type) : NULL;
	if (!type || !btf_type_is_func_proto(type))
		return -ENOENT;
	count = btf_type_vlen(type);
	params = (const struct btf_param *)(type + 1);
	/* A variadic function: its further arguments are not known. */
	if (count && !params[count - 1].type)
		return -ENOENT;
	for (n = 0; n < min(count, room); n++) {
		type = btf_type_by_id(btf, params[n].type);
		if (!type || IS_ERR(btf_resolve_size(btf, type, &sizes[n])))
			sizes[n] = 0;
	}
	return count;
}
#endif

/*
 * Returns the number of parameters of the function at @addr, by BTF, and their
 * sizes in bytes as far as there is @room; a size of 0 is not known. Returns a
 * negative errno if the function is not known.
 */
int rust_kprobes_parameters(unsigned long addr, u32 *sizes, unsigned int room)
{
	int known = -ENOENT;
#ifdef CONFIG_DEBUG_INFO_BTF
	char *name __free(kfree) = kmalloc(KSYM_NAME_LEN, GFP_KERNEL);
	struct btf *btf;
	s32 id;

	if (!name || lookup_symbol_name(addr, name))
		return -ENOENT;
	id = bpf_find_btf_id(name, BTF_KIND_FUNC, &btf);
	if (id < 0)
		return -ENOENT;
	if (is_of(btf, addr))
		known = parameters_of(btf, id, sizes, room);
	btf_put(btf);
#endif
	return known;
}

/*
 * Checks that the task that has hit the probe has user memory. If a task has none,
 * another task's memory is loaded. So it is during a switch from one task to
 * another.
 */
static long has_user(void)
{
	if (!current->mm)
		return -ESRCH;
	return nmi_uaccess_okay() ? 0 : -EFAULT;
}

/* Copies without sleeping: memory that would have to be paged in is not there. */
long rust_kprobes_read_user(void *to, const void __user *from, size_t size)
{
	return has_user() ?: copy_from_user_nofault(to, from, size);
}

/* Returns the length of the string, cut to @room, with its end. */
long rust_kprobes_read_user_str(char *to, const char __user *from, long room)
{
	return has_user() ?: strncpy_from_user_nofault(to, from, room);
}

void rust_kprobes_client_add(struct rust_kprobes_client *client)
{
	guard(mutex)(&clients_mutex);
	list_add(&client->list, &clients);
}

/* Returns false if the unloading of its module has unregistered the client. */
bool rust_kprobes_client_remove(struct rust_kprobes_client *client)
{
	guard(mutex)(&clients_mutex);
	list_del(&client->list);
	return !client->gone;
}

/* Warns that a client was dropped where the caller must not sleep. */
void rust_kprobes_client_abandoned(struct rust_kprobes_client *client)
{
	pr_warn("a probe on %pS was dropped where one may not wait, and stays\n",
		client->probe->addr);
}

/*
 * Called after a grace period: on arm and powerpc, idle CPUs hit probes where RCU
 * does not watch. Handlers run with interrupts off, so an interrupt waits for them.
 */
void rust_kprobes_wait_for_idle(void)
{
	if (!IS_ENABLED(CONFIG_ARCH_WANTS_NO_INSTR))
		kick_all_cpus_sync();
}

/* Handlers of a probe whose own handlers must not be called any more. */
static int nothing_before(struct kprobe *probe, struct pt_regs *regs)
{
	return 0;
}
NOKPROBE_SYMBOL(nothing_before);

static void nothing_after(struct kprobe *probe, struct pt_regs *regs,
			  unsigned long flags)
{
}
NOKPROBE_SYMBOL(nothing_after);

/*
 * The client was unregistered but could not be disarmed: its handlers are not
 * called any more, and its memory is not freed.
 */
void rust_kprobes_client_neutralize(struct rust_kprobes_client *client)
{
	struct kprobe *probe = client->probe;

	pr_warn("a probe of %pS could not be unregistered, and stays\n",
		(void *)client->code);
	/* That of a return probe is part of kprobes, and its pool is gone. */
	if (probe->pre_handler)
		WRITE_ONCE(probe->pre_handler, nothing_before);
	if (probe->post_handler)
		WRITE_ONCE(probe->post_handler, nothing_after);
	synchronize_rcu();
	rust_kprobes_wait_for_idle();
}

#ifdef CONFIG_MODULES
static void unregister_client(struct rust_kprobes_client *client)
{
	client->gone = true;
	list_move(&client->list, &gone_clients);
	if (IS_ENABLED(CONFIG_KRETPROBES) && client->return_probe)
		unregister_kretprobe(client->return_probe);
	else
		unregister_kprobe(client->probe);
	rust_kprobes_wait_for_idle();
	if (!client->probe->addr)
		rust_kprobes_client_neutralize(client);
}

static int clients_module_event(struct notifier_block *block,
				unsigned long state, void *module)
{
	struct rust_kprobes_client *client, *next;

	if (state != MODULE_STATE_GOING)
		return NOTIFY_DONE;
	guard(mutex)(&clients_mutex);
	list_for_each_entry_safe(client, next, &clients, list) {
		if (!within_module(client->code, module))
			continue;
		pr_warn("%s has left a probe on %pS behind\n",
			((struct module *)module)->name, client->probe->addr);
		unregister_client(client);
	}
	return NOTIFY_DONE;
}

/* Runs before the notifier of kprobes. */
static struct notifier_block module_events = {
	.notifier_call = clients_module_event,
	.priority = 1,
};

static int __init register_clients_module_events(void)
{
	return register_module_notifier(&module_events);
}
early_initcall(register_clients_module_events);
#endif
