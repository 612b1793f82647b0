/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that rust/kernel/kprobes/ and kprobes_clients.c share. */
#ifndef _RUST_KPROBES_CLIENTS_H
#define _RUST_KPROBES_CLIENTS_H

#include <linux/error-injection.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/uaccess.h>

/* A registration that was made through the kernel crate. */
struct rust_kprobes_client {
	struct list_head list;
	/* A handler's address: the client must not outlive its module. */
	unsigned long code;
	struct kprobe *probe;
	/* NULL if this is not a return probe. */
	struct kretprobe *return_probe;
	/* Further memory that leaks with the client; only kmemleak uses this. */
	void *left;
	/* The module was unloaded, which has unregistered the probe. */
	bool gone;
};

#ifdef CONFIG_KPROBES
bool rust_kprobes_may_block(void);
bool rust_kprobes_is_reserved(unsigned long addr);
bool rust_kprobes_ends_task(unsigned long addr);
int rust_kprobes_parameters(unsigned long addr, u32 *sizes, unsigned int room);
long rust_kprobes_read_user(void *to, const void __user *from, size_t size);
long rust_kprobes_read_user_str(char *to, const char __user *from, long room);
void rust_kprobes_client_add(struct rust_kprobes_client *client);
bool rust_kprobes_client_remove(struct rust_kprobes_client *client);
void rust_kprobes_client_abandoned(struct rust_kprobes_client *client);
void rust_kprobes_client_neutralize(struct rust_kprobes_client *client);
void rust_kprobes_wait_for_idle(void);
#endif

#endif /* _RUST_KPROBES_CLIENTS_H */
