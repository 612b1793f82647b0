// SPDX-License-Identifier: GPL-2.0
/*
 * Registers a probe on each of many addresses, to see which of them become
 * jumps. Works over either implementation behind <linux/kprobes.h>, and is
 * driven through debugfs, round by round:
 *
 *   kprobes_coverage/addresses  write addresses, one a line: those of a round
 *   kprobes_coverage/round      write "register", "wait", "unregister"
 *   kprobes_coverage/results    read what has become of each: its address, the
 *                               errno, and what its text is now; after they
 *                               were unregistered, those whose text is not
 *                               what it was
 *
 * A probe on a function of the module's own comes last in each round. When it
 * has become a jump the optimizer has been there since all came, and when it
 * has been disabled the optimizer is done: both hold one lock.
 */
#define pr_fmt(fmt) "coverage: " fmt

#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/hex.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/text-patching.h>
#include <linux/uaccess.h>
#include "kprobes_coverage.h"

#define MOST	512

struct one {
	struct kprobe kp;
	u64 at;
	u8 before[JMP32_INSN_SIZE];
	int error;
	u64 hits;
};

static struct dentry *folder;
static struct one all[MOST];
static struct kprobe *registered[MOST + 1];
static unsigned int count, registered_count;
static bool is_over;	/* are these of a round that is over? */
static DEFINE_MUTEX(lock);

/* What the last probe of a round is on: instructions that go anywhere. */
asm(".pushsection .text, \"ax\"\n"
	".globl kprobes_coverage_last\n"
	".type kprobes_coverage_last, @function\n"
	"kprobes_coverage_last:\n"
	"	mov %rdi, %rax\n"
	"	mov %rdi, %rcx\n"
	"	mov %rdi, %rdx\n"
	"	ret\n"
	"	int3\n"
	".size kprobes_coverage_last, . - kprobes_coverage_last\n"
	".popsection\n"
);

static struct kprobe last;

/* Many are hit by all CPUs at once: the count is for nobody to rely on. */
static int hit(struct kprobe *kp, struct pt_regs *regs)
{
	struct one *one = container_of(kp, struct one, kp);

	WRITE_ONCE(one->hits, READ_ONCE(one->hits) + 1);
	return 0;
}

static int hit_last(struct kprobe *kp, struct pt_regs *regs)
{
	return 0;
}
NOKPROBE_SYMBOL(hit);
NOKPROBE_SYMBOL(hit_last);

static int take(u64 at)
{
	struct one *one;

	if (registered_count)
		return -EBUSY;
	if (is_over)
		count = 0;
	is_over = false;
	if (count == MOST)
		return -ENOSPC;
	one = &all[count++];
	memset(one, 0, sizeof(*one));
	one->at = at;
	return 0;
}

static ssize_t addresses_write(struct file *file, const char __user *user,
			       size_t length, loff_t *offset)
{
	static u64 partial;	/* of a line that is not yet complete */
	char *text = memdup_user(user, length);
	int digit, error = 0;
	size_t i;

	if (IS_ERR(text))
		return PTR_ERR(text);
	guard(mutex)(&lock);
	for (i = 0; i < length && !error; i++) {
		digit = hex_to_bin(text[i]);
		if (digit >= 0) {
			partial = partial << 4 | digit;
		} else {
			if (partial)
				error = take(partial);
			partial = 0;
		}
	}
	kfree(text);
	return error ? error : length;
}

static const struct file_operations addresses_operations = {
	.owner = THIS_MODULE,
	.write = addresses_write,
};

static int register_all(void)
{
	unsigned int i;
	int error;

	for (i = 0; i < count; i++) {
		struct one *one = &all[i];

		if (copy_from_kernel_nofault(one->before, (void *)one->at,
					     sizeof(one->before)))
			return -EFAULT;
		one->kp.addr = (kprobe_opcode_t *)one->at;
		one->kp.pre_handler = hit;
		one->error = register_kprobe(&one->kp);
		if (!one->error)
			registered[registered_count++] = &one->kp;
		cond_resched();
	}
	memset(&last, 0, sizeof(last));
	last.addr = kprobes_coverage_last;
	last.pre_handler = hit_last;
	error = register_kprobe(&last);
	if (error)
		return error;
	registered[registered_count++] = &last;
	return 0;
}

static int wait_for_last(void)
{
	unsigned long end = jiffies + 60 * HZ;

	while (READ_ONCE(kprobes_coverage_last[0]) != JMP32_INSN_OPCODE) {
		if (time_after(jiffies, end))
			return -ETIME;
		msleep(20);
	}
	return disable_kprobe(&last);
}

static void unregister_all(void)
{
	if (registered_count)
		unregister_kprobes(registered, registered_count);
	registered_count = 0;
	is_over = true;
}

static ssize_t round_write(struct file *file, const char __user *user,
			   size_t length, loff_t *offset)
{
	char text[16] = "";
	char *word;
	int error = 0;

	if (length >= sizeof(text) || copy_from_user(text, user, length))
		return -EINVAL;
	word = strim(text);
	guard(mutex)(&lock);
	if (!strcmp(word, "register"))
		error = register_all();
	else if (!strcmp(word, "wait"))
		error = wait_for_last();
	else if (!strcmp(word, "unregister"))
		unregister_all();
	else
		error = -EINVAL;
	return error ? error : length;
}

static const struct file_operations round_operations = {
	.owner = THIS_MODULE,
	.write = round_write,
};

/* Where a jump of the function's own was is one of ours if it leads elsewhere. */
static const char *now(const struct one *one)
{
	u8 bytes[JMP32_INSN_SIZE];

	if (copy_from_kernel_nofault(bytes, (void *)one->at, sizeof(bytes)))
		return "unreadable";
	if (!memcmp(bytes, one->before, sizeof(bytes)))
		return "untouched";
	switch (bytes[0]) {
	case INT3_INSN_OPCODE:
		return "breakpoint";
	case JMP32_INSN_OPCODE:
		return "jump";
	case CALL_INSN_OPCODE:
		return "ftrace";
	default:
		return "changed";
	}
}

static int results_show(struct seq_file *seq, void *unused)
{
	unsigned int i;

	guard(mutex)(&lock);
	for (i = 0; i < count; i++) {
		const char *is = now(&all[i]);

		if (!is_over || strcmp(is, "untouched"))
			seq_printf(seq, "%llx %d %s\n", all[i].at,
				   all[i].error, is);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(results);

static int __init coverage_init(void)
{
	folder = debugfs_create_dir("kprobes_coverage", NULL);
	debugfs_create_file("addresses", 0200, folder, NULL,
			    &addresses_operations);
	debugfs_create_file("round", 0200, folder, NULL, &round_operations);
	debugfs_create_file("results", 0400, folder, NULL, &results_fops);
	return 0;
}

static void __exit coverage_exit(void)
{
	debugfs_remove(folder);
	unregister_all();
}

module_init(coverage_init);
module_exit(coverage_exit);
MODULE_DESCRIPTION("Which probes become jumps");
MODULE_LICENSE("GPL");
