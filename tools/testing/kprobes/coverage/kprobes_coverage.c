// SPDX-License-Identifier: GPL-2.0
/*
 * Registers a probe on each of many addresses, to see which of them become
 * jumps. Works over either implementation behind <linux/kprobes.h>, and is
 * driven by two parameters, round by round:
 *
 *   address   write each address of a round
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

#define MOST	512

struct one {
	struct kprobe kp;
	u64 at;
	u8 before[JMP32_INSN_SIZE];
	int error;
	u64 hits;
};

static struct dentry *results;
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

extern u8 kprobes_coverage_last[];
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

static int set_address(const char *text, const struct kernel_param *param)
{
	u64 at;
	int error = kstrtou64(text, 16, &at);

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
	all[count++] = (struct one) { .at = at };
	return 0;
}

static const struct kernel_param_ops address_ops = { .set = set_address };
module_param_cb(address, &address_ops, NULL, 0200);

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
