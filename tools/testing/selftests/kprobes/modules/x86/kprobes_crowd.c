// SPDX-License-Identifier: GPL-2.0
/*
 * A probe, a crowd of them that needs a page of copies of its own, and one
 * that may become a jump, on instructions that nobody runs. Writing to a
 * parameter registers, or unregisters; writing "wait" to "jump" waits until
 * there is one. Writing an address to "poke" tries to write a byte there.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/uaccess.h>

/* Of two bytes each, and stepped by any implementation. */
#define CROWD	320
#define CLTS	2

/* How often, and for how many ms, there is no jump before it is too late. */
#define TIMES	200
#define PAUSE	50

asmlinkage void kprobes_crowd_text(void);
asmlinkage void kprobes_crowd_jump(void);

asm(".pushsection .text\n"
	".globl kprobes_crowd_text\n"
	".type kprobes_crowd_text, @function\n"
	".balign 16\n"
	"kprobes_crowd_text:\n"
	".rept " __stringify(CROWD) "\n"
	"clts\n"
	".endr\n"
	ASM_RET
	".size kprobes_crowd_text, . - kprobes_crowd_text\n"
	".globl kprobes_crowd_jump\n"
	".type kprobes_crowd_jump, @function\n"
	".balign 16\n"
	"kprobes_crowd_jump:\n"
	/* 48 8d 47 05, and 31 c9: what a jump is over, and one byte more. */
	"leaq 5(%rdi), %rax\n"
	"xorl %ecx, %ecx\n"
	ASM_RET
	".size kprobes_crowd_jump, . - kprobes_crowd_jump\n"
	".popsection\n");

static struct kprobe crowd[CROWD];

/* With a post handler C puts no jump there. */
static void after_hit(struct kprobe *kp, struct pt_regs *regs,
		      unsigned long flags)
{
}

static int set_crowd(const char *text, const struct kernel_param *param)
{
	const int count = *(const int *)param->arg;
	static struct kprobe *all[CROWD];
	int n;

	for (n = 0; n < count; n++)
		all[n] = &crowd[n];
	if (sysfs_streq(text, "unregister")) {
		unregister_kprobes(all, count);
		return 0;
	}
	if (!sysfs_streq(text, "register"))
		return -EINVAL;
	memset(crowd, 0, sizeof(crowd));
	for (n = 0; n < count; n++) {
		crowd[n].addr = (kprobe_opcode_t *)kprobes_crowd_text + CLTS * n;
		crowd[n].post_handler = after_hit;
	}
	return register_kprobes(all, count);
}

static const struct kernel_param_ops crowd_ops = {
	.set = set_crowd,
};

static struct kprobe jump;

static int wait_for_jump(void)
{
	const u8 *first = (const u8 *)kprobes_crowd_jump;
	int n;

	for (n = 0; n < TIMES; n++) {
		if (READ_ONCE(*first) == 0xe9)
			return 0;
		msleep(PAUSE);
	}
	return -ETIMEDOUT;
}

static int set_jump(const char *text, const struct kernel_param *param)
{
	if (sysfs_streq(text, "wait"))
		return wait_for_jump();
	if (sysfs_streq(text, "unregister")) {
		unregister_kprobe(&jump);
		return 0;
	}
	if (!sysfs_streq(text, "register"))
		return -EINVAL;
	memset(&jump, 0, sizeof(jump));
	jump.addr = (kprobe_opcode_t *)kprobes_crowd_jump;
	return register_kprobe(&jump);
}

static const struct kernel_param_ops jump_ops = {
	.set = set_jump,
};
module_param_cb(jump, &jump_ops, NULL, 0200);

static int write_to(u8 *at)
{
	u8 byte = 0xcc;
	int err = -EFAULT;

	pagefault_disable();
	__put_kernel_nofault(at, &byte, u8, fault);
	err = 0;
fault:
	pagefault_enable();
	return err;
}

static int set_poke(const char *text, const struct kernel_param *param)
{
	unsigned long at;
	u8 own;
	int err;

	err = kstrtoul(text, 16, &at);
	if (err || write_to(&own) || own != 0xcc)
		return -EIO;
	return write_to((u8 *)at);
}

static const struct kernel_param_ops poke_ops = {
	.set = set_poke,
};
module_param_cb(poke, &poke_ops, NULL, 0200);

static int count_of_one = 1, count_of_all = CROWD;

module_param_cb(one, &crowd_ops, &count_of_one, 0200);
module_param_cb(all, &crowd_ops, &count_of_all, 0200);

MODULE_DESCRIPTION("Probes that need a page of copies of their own");
MODULE_LICENSE("GPL");
