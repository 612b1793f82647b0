// SPDX-License-Identifier: GPL-2.0
/*
 * A probe on a 14-byte instruction. The C implementation accepts it and dies
 * at the first hit: the breakpoint behind the copy is reported one byte past
 * the window in which it is recognised. Loaded alone, in a boot of its own.
 */
#include <linux/kprobes.h>
#include <linux/module.h>

asmlinkage void kprobes_long_insn_target(void);

/*
 * The site is movl $0x12345678, 8(%rsp) with a 32-bit displacement and three
 * segment prefixes.
 */
asm(".pushsection .text\n"
	".globl kprobes_long_insn_target\n"
	".type kprobes_long_insn_target, @function\n"
	"kprobes_long_insn_target:\n"
	"	sub $64, %rsp\n"
	"kprobes_long_insn_site:\n"
	"	.byte 0x3e, 0x3e, 0x3e, 0xc7, 0x84, 0x24, 8, 0, 0, 0\n"
	"	.byte 0x78, 0x56, 0x34, 0x12\n"
	"	add $64, %rsp\n"
	"	" ASM_RET
	".size kprobes_long_insn_target, . - kprobes_long_insn_target\n"
	".popsection\n");

static int hits;

static int count_hit(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static void after_hit(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

/* With a post handler it is always stepped, never run from a detour. */
static struct kprobe probe = {
	.symbol_name = "kprobes_long_insn_site",
	.pre_handler = count_hit,
	.post_handler = after_hit,
};

static int __init long_insn_init(void)
{
	int err = register_kprobe(&probe);

	if (err)
		return err;
	pr_info("long_insn: registered\n");
	kprobes_long_insn_target();
	pr_info("long_insn: survived %d hits\n", hits);
	return 0;
}
module_init(long_insn_init);

static void __exit long_insn_exit(void)
{
	unregister_kprobe(&probe);
}
module_exit(long_insn_exit);

MODULE_DESCRIPTION("A probe on a 14-byte instruction");
MODULE_LICENSE("GPL");
