// SPDX-License-Identifier: GPL-2.0
/*
 * Registers a probe on each of many addresses, to see which of them become
 * jumps. Works over either implementation behind <linux/kprobes.h>, and is
 * driven by parameters, round by round:
 *
 *   moved     write how far the text is from where it was linked
 *   address   write each address of a round, as linked; one behind a minus
 *             gets a probe that is not armed
 *   round     write "register", "wait", "unregister"
 *
 * In debugfs, kprobes_coverage has what has become of each: its address, the
 * errno, and what its text is now; after they were unregistered, those whose
 * text is not what it was.
 *
 * A probe on a function of the module's own comes last in each round. When it
 * has become a jump the optimizer has been there since all came, and when it
 * has been disabled the optimizer is done: both hold one lock.
 */
#define pr_fmt(fmt) "coverage: " fmt

#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/text-patching.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
/*
 * Of each architecture: LONGEST, the longest change of text, its FORMS, and LAST,
 * a function whose first instruction may become a jump.
 */
#include "text.h"

#define MOST	512

/* What text with a probe begins with: bits of the first four bytes. */
struct form {
	u32 mask, is;
	const char *name;
	u32 was;	/* what the same bits were; 0 is anything */
};

static const struct form forms[] = { FORMS };

struct one {
	struct kprobe kp;
	u64 at;
	u8 before[LONGEST];
	int error;
};

static struct dentry *results;
static struct one all[MOST];
static struct kprobe *registered[MOST + 1];
static unsigned int count, registered_count;
static bool is_over;	/* are these of a round that is over? */
static DEFINE_MUTEX(lock);

/* What the last probe of a round is on. */
asm(".pushsection .text, \"ax\"\n"
	".globl kprobes_coverage_last\n"
	".type kprobes_coverage_last, %function\n"
	"kprobes_coverage_last:\n"
	LAST
	".size kprobes_coverage_last, . - kprobes_coverage_last\n"
	".popsection\n"
);

extern u8 kprobes_coverage_last[];
static struct one last;
static unsigned long moved;
module_param(moved, ulong, 0200);

static int hit(struct kprobe *kp, struct pt_regs *regs)
{
	return 0;
}
NOKPROBE_SYMBOL(hit);

static int set_address(const char *text, const struct kernel_param *param)
{
	bool disabled = *text == '-';
	u64 at;
	int error = kstrtou64(text + disabled, 16, &at);

	guard(mutex)(&lock);
	if (error)
		return error;
	if (registered_count)
		return -EBUSY;
	if (is_over)
		count = 0;
	is_over = false;
	if (count == MOST)
		return -ENOSPC;
	all[count++] = (struct one) {
		.at = at,
		.kp.addr = (kprobe_opcode_t *)((unsigned long)at + moved),
		.kp.flags = disabled ? KPROBE_FLAG_DISABLED : 0,
	};
	return 0;
}

static const struct kernel_param_ops address_ops = { .set = set_address };
module_param_cb(address, &address_ops, NULL, 0200);

static int register_one(struct one *one)
{
	if (copy_from_kernel_nofault(one->before, one->kp.addr, LONGEST))
		return -EFAULT;
	one->kp.pre_handler = hit;
	one->error = register_kprobe(&one->kp);
	if (!one->error)
		registered[registered_count++] = &one->kp;
	return 0;
}

static int register_all(void)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		int error = register_one(&all[i]);

		if (error)
			return error;
		cond_resched();
	}
	last = (struct one) { .kp.addr = (kprobe_opcode_t *)kprobes_coverage_last };
	return register_one(&last) ?: last.error;
}

/* What is at the address now. */
static const char *now(const struct one *one)
{
	u8 bytes[LONGEST];
	unsigned int i;

	if (copy_from_kernel_nofault(bytes, one->kp.addr, LONGEST))
		return "unreadable";
	if (!memcmp(bytes, one->before, LONGEST))
		return "untouched";
	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		u32 mask = forms[i].mask;

		if ((get_unaligned_be32(bytes) & mask) == forms[i].is &&
		    (!forms[i].was ||
		     (get_unaligned_be32(one->before) & mask) == forms[i].was))
			return forms[i].name;
	}
	return "changed";
}

static int wait_for_last(void)
{
	unsigned long end = jiffies + 60 * HZ;

	while (IS_ENABLED(CONFIG_OPTPROBES) && strcmp(now(&last), "jump")) {
		if (time_after(jiffies, end))
			return -ETIME;
		msleep(20);
	}
	return disable_kprobe(&last.kp);
}

static void unregister_all(void)
{
	if (registered_count)
		unregister_kprobes(registered, registered_count);
	registered_count = 0;
	is_over = true;
}

static int set_round(const char *text, const struct kernel_param *param)
{
	guard(mutex)(&lock);
	if (sysfs_streq(text, "register"))
		return register_all();
	if (sysfs_streq(text, "wait"))
		return wait_for_last();
	if (!sysfs_streq(text, "unregister"))
		return -EINVAL;
	unregister_all();
	return 0;
}

static const struct kernel_param_ops round_ops = { .set = set_round };
module_param_cb(round, &round_ops, NULL, 0200);

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
	results = debugfs_create_file("kprobes_coverage", 0400, NULL, NULL,
				      &results_fops);
	return 0;
}

static void __exit coverage_exit(void)
{
	debugfs_remove(results);
	unregister_all();
}

module_init(coverage_init);
module_exit(coverage_exit);
MODULE_DESCRIPTION("Which probes become jumps");
MODULE_LICENSE("GPL");
