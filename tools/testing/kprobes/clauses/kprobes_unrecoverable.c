// SPDX-License-Identifier: GPL-2.0
/*
 * A probe that is hit by what handles its own instruction's trap: without end,
 * if nobody saw it. Loaded alone, in a boot of its own.
 */
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <asm/asm.h>
#include <asm/trapnr.h>

asmlinkage void kprobes_unrecoverable_target(void);

asm(".pushsection .text\n"
	".globl kprobes_unrecoverable_target\n"
	".type kprobes_unrecoverable_target, @function\n"
	"kprobes_unrecoverable_target:\n"
	"	xor %ecx, %ecx\n"
	"kprobes_unrecoverable_site:\n"
	"	div %ecx\n"
	"1:	" ASM_RET
	_ASM_EXTABLE(kprobes_unrecoverable_site, 1b)
	".size kprobes_unrecoverable_target, . - kprobes_unrecoverable_target\n"
	".popsection\n");

/* As whatever handles a trap and divides by zero itself. */
static int on_trap(struct notifier_block *block, unsigned long what, void *data)
{
	struct die_args *args = data;

	if (what == DIE_TRAP && args->trapnr == X86_TRAP_DE)
		kprobes_unrecoverable_target();
	return NOTIFY_DONE;
}

static struct notifier_block traps = { .notifier_call = on_trap };

static int nothing(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static struct kprobe probe = {
	.symbol_name = "kprobes_unrecoverable_site",
	.pre_handler = nothing,
};

static int __init unrecoverable_init(void)
{
	int err = register_kprobe(&probe) ?: register_die_notifier(&traps);

	if (err)
		return err;
	pr_info("unrecoverable: registered\n");
	kprobes_unrecoverable_target();
	pr_info("unrecoverable: survived\n");
	return 0;
}
module_init(unrecoverable_init);

MODULE_DESCRIPTION("A probe that its own trap's handler hits");
MODULE_LICENSE("GPL");
