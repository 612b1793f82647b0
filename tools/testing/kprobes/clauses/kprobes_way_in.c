// SPDX-License-Identifier: GPL-2.0
/*
 * Functions with a way into the middle of what a jump in the place of a
 * breakpoint would be over, that their own code does not show: where a jump
 * label leads that is a NOP so far, and where a branch of another symbol leads,
 * as from what a compiler has split off. Under the C implementation there are
 * jumps all the same, and who comes that way runs the last byte of one. Loaded
 * alone there, in boots of their own.
 */
#include <linux/delay.h>
#include <linux/jump_label.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/text-patching.h>

asmlinkage long kprobes_way_in_label(long value);
asmlinkage long kprobes_way_in_entered(long value);
asmlinkage long kprobes_way_in_cold(long value);
asmlinkage long kprobes_way_in_plain(long value);

DEFINE_STATIC_KEY_FALSE(kprobes_way_in_key);

/*
 * The place is the first LEA. What is behind it begins in the jump's last byte.
 * That is 0 or 0xff, and with the byte after it no instruction, or one that
 * writes to where RDI leads: to a number.
 */
#define REGION(landing)						\
	"	lea 5(%rdi), %rax\n"				\
	landing ":\n"						\
	"	mov $0x3f, %cl\n"				\
	"	" ASM_RET

asm(".pushsection .text\n"
	/* Adds five, and six when the key is on. */
	".globl kprobes_way_in_label\n"
	".type kprobes_way_in_label, @function\n"
	"kprobes_way_in_label:\n"
	ASM_ENDBR
	"	mov %rdi, %rax\n"
	"	inc %rax\n"
	"	lea 5(%rax), %rax\n"
	"1:	.byte " __stringify(BYTES_NOP5) "\n"
	JUMP_TABLE_ENTRY("kprobes_way_in_key", ".Lway_in_label")
	REGION(".Lway_in_label")
	".size kprobes_way_in_label, . - kprobes_way_in_label\n"

	/* Adds five, and by way of the other symbol six. */
	".globl kprobes_way_in_entered\n"
	".type kprobes_way_in_entered, @function\n"
	"kprobes_way_in_entered:\n"
	ASM_ENDBR
	REGION(".Lway_in_entered")
	".size kprobes_way_in_entered, . - kprobes_way_in_entered\n"

	".globl kprobes_way_in_cold\n"
	".type kprobes_way_in_cold, @function\n"
	"kprobes_way_in_cold:\n"
	ASM_ENDBR
	"	lea 6(%rdi), %rax\n"
	"	jmp .Lway_in_entered\n"
	".size kprobes_way_in_cold, . - kprobes_way_in_cold\n"

	".globl kprobes_way_in_plain\n"
	".type kprobes_way_in_plain, @function\n"
	"kprobes_way_in_plain:\n"
	ASM_ENDBR
	REGION(".Lway_in_plain")
	".size kprobes_way_in_plain, . - kprobes_way_in_plain\n"
	".popsection\n");

static char *way = "label";
module_param(way, charp, 0);

static int hits;

static int count_hit(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static struct kprobe probe = { .pre_handler = count_hit };
/* Nothing leads into it. When it is a jump the other one is, or will not be. */
static struct kprobe plain = { .symbol_name = "kprobes_way_in_plain" };

static bool is_jump(const struct kprobe *kp)
{
	return *(const u8 *)READ_ONCE(kp->addr) == JMP32_INSN_OPCODE;
}

static int __init way_in_init(void)
{
	bool label = sysfs_streq(way, "label");
	int err, moments = 1000;
	long other;

	probe.symbol_name = label ? "kprobes_way_in_label" :
				    "kprobes_way_in_entered";
	/* MOV, INC, LEA, and the NOP. */
	if (label)
		probe.offset = (IS_ENABLED(CONFIG_X86_KERNEL_IBT) ? 4 : 0) + 15;
	err = register_kprobe(&probe);
	if (err)
		return err;
	err = register_kprobe(&plain);
	if (err) {
		unregister_kprobe(&probe);
		return err;
	}
	while (!is_jump(&plain) && moments--)
		msleep(20);
	pr_info("way_in: registered, a %s\n",
		is_jump(&probe) ? "jump" : "breakpoint");
	if (label) {
		static_branch_enable(&kprobes_way_in_key);
		other = kprobes_way_in_label(1);
		static_branch_disable(&kprobes_way_in_key);
		kprobes_way_in_label(1);
	} else {
		other = kprobes_way_in_cold(1);
		kprobes_way_in_entered(1);
	}
	pr_info("way_in: survived with %ld, %d hits, after %s jump\n", other,
		hits, is_jump(&plain) ? "a" : "no");
	return 0;
}
module_init(way_in_init);

static void __exit way_in_exit(void)
{
	unregister_kprobe(&plain);
	unregister_kprobe(&probe);
}
module_exit(way_in_exit);

MODULE_DESCRIPTION("Ways into what a jump would be over");
MODULE_LICENSE("GPL");
