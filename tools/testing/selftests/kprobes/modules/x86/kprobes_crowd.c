// SPDX-License-Identifier: GPL-2.0
/*
 * A probe, a crowd of them that needs a page of copies of its own, and one
 * that may become a jump, on instructions that nobody runs. Writing to a
 * parameter registers, or unregisters; writing "wait" waits until the last one
 * is a jump. Writing an address to "poke" tries to write a byte there.
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

static struct kprobe crowd[CROWD], jump;

/* With a post handler C puts no jump there. */
static void after_hit(struct kprobe *kp, struct pt_regs *regs,
		      unsigned long flags)
{
}

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

struct group {
	struct kprobe *first;
	int count;
	void (*text)(void);
	kprobe_post_handler_t after;
};

static int set_group(const char *text, const struct kernel_param *param)
{
	const struct group *group = param->arg;
	static struct kprobe *all[CROWD];
	int n;

	for (n = 0; n < group->count; n++)
		all[n] = &group->first[n];
	if (sysfs_streq(text, "wait"))
		return wait_for_jump();
	if (sysfs_streq(text, "unregister")) {
		unregister_kprobes(all, group->count);
		return 0;
	}
	if (!sysfs_streq(text, "register"))
		return -EINVAL;
	for (n = 0; n < group->count; n++)
		*all[n] = (struct kprobe) {
			.addr = (kprobe_opcode_t *)group->text + CLTS * n,
			.post_handler = group->after,
		};
	return register_kprobes(all, group->count);
}

static const struct kernel_param_ops group_ops = {
	.set = set_group,
};

#define GROUP(name, ...)						\
static struct group group_##name = { __VA_ARGS__ };			\
module_param_cb(name, &group_ops, &group_##name, 0200)

GROUP(one, crowd, 1, kprobes_crowd_text, after_hit);
GROUP(all, crowd, CROWD, kprobes_crowd_text, after_hit);
GROUP(jump, &jump, 1, kprobes_crowd_jump);

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

MODULE_DESCRIPTION("Probes that need a page of copies of their own");
MODULE_LICENSE("GPL");
