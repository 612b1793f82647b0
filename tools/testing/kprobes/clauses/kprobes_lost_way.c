// SPDX-License-Identifier: GPL-2.0
/*
 * What must not be of calls that return probes watch. First what is known of
 * a call's frame is made wrong, twice: its client is not told, which is warned
 * of once. Then a task comes to the trampoline by itself, and nobody knows
 * where it would go on. Loaded alone, in a boot of its own.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <asm/asm.h>
#include <asm/nospec-branch.h>
#include "probed.h"

static unsigned long trampoline;
module_param(trampoline, ulong, 0);

static struct kretprobe_instance *call;
static int told;

noinline int kprobes_lost_way_function(void)
{
	barrier();
	call->node.frame++;
	return 5;
}

static int enters(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	call = instance;
	return 0;
}

static int returns(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	told++;
	return 0;
}

static struct kretprobe probe = {
	.kp.symbol_name = "kprobes_lost_way_function",
	.entry_handler = enters,
	.handler = returns,
};

/* It returns to where it is told to. */
asmlinkage void kprobes_lost_way_return_to(unsigned long to);

asm(".pushsection .text\n"
	".globl kprobes_lost_way_return_to\n"
	".type kprobes_lost_way_return_to, @function\n"
	"kprobes_lost_way_return_to:\n"
	"	movq %rdi, (%rsp)\n"
	"	" ASM_RET
	".size kprobes_lost_way_return_to, . - kprobes_lost_way_return_to\n"
	".popsection\n");

static int __init lost_way_init(void)
{
	int err = register_kretprobe(&probe), n, back = 0;

	if (err)
		return err;
	for (n = 1; n <= 2; n++) {
		back += kprobes_lost_way_function() == 5;
		pr_info("lost_way: %d back of %d, %d told\n", back, n, told);
	}
	unregister_kretprobe(&probe);
	pr_info("lost_way: goes\n");
	kprobes_lost_way_return_to(trampoline);
	pr_info("lost_way: survived\n");
	return 0;
}
module_init(lost_way_init);

MODULE_DESCRIPTION("Comes to where only functions with return probes return");
MODULE_LICENSE("GPL");
