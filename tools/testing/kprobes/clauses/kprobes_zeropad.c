// SPDX-License-Identifier: GPL-2.0
/*
 * A probe on a load that crosses into a page that is not there, as
 * load_unaligned_zeropad() does. The fixup decodes the instruction, and under
 * the C implementation finds the breakpoint. Loaded alone, in a boot of its
 * own.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/vmalloc.h>
#include <asm/asm.h>

asmlinkage long kprobes_zeropad_target(const void *from);

asm(".pushsection .text\n"
	".globl kprobes_zeropad_target\n"
	".type kprobes_zeropad_target, @function\n"
	"kprobes_zeropad_target:\n"
	"	xor %eax, %eax\n"
	"kprobes_zeropad_site:\n"
	"	mov (%rdi), %rax\n"
	"1:	" ASM_RET
	_ASM_EXTABLE_TYPE(kprobes_zeropad_site, 1b, EX_TYPE_ZEROPAD)
	".size kprobes_zeropad_target, . - kprobes_zeropad_target\n"
	".popsection\n");

static int hits;

static int count_hit(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static struct kprobe probe = {
	.symbol_name = "kprobes_zeropad_site",
	.pre_handler = count_hit,
};

static int __init zeropad_init(void)
{
	void *page = vzalloc(PAGE_SIZE);
	int err = page ? register_kprobe(&probe) : -ENOMEM;

	if (err) {
		vfree(page);
		return err;
	}
	pr_info("zeropad: registered\n");
	kprobes_zeropad_target(page + PAGE_SIZE - 4);
	pr_info("zeropad: survived %d hits\n", hits);
	unregister_kprobe(&probe);
	vfree(page);
	return 0;
}
module_init(zeropad_init);

static void __exit zeropad_exit(void)
{
}
module_exit(zeropad_exit);

MODULE_DESCRIPTION("A probe on a load that ends where no page is");
MODULE_LICENSE("GPL");
