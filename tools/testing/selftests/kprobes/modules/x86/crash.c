// SPDX-License-Identifier: GPL-2.0
/*
 * The part of kprobes_crash for x86: what kills a kernel with kprobes in C there,
 * and the functions that crash.c has probed.
 */
#include <linux/jump_label.h>
#include <linux/linkage.h>
#include <linux/module.h>
#include <linux/text-patching.h>
#include <linux/vmalloc.h>
#include <asm/asm.h>
#include <asm/trapnr.h>
#include "crash.h"

bool is_jump(const struct kprobe *kp)
{
	return *(const u8 *)READ_ONCE(kp->addr) == JMP32_INSN_OPCODE;
}

/*
 * An instruction of 14 bytes. The C implementation accepts it and dies at the
 * first hit: the breakpoint behind the copy is reported one byte past the
 * window in which it is recognised. It is movl $0x12345678, 8(%rsp) with a
 * 32-bit displacement and three segment prefixes.
 */
asmlinkage void kprobes_long_insn_target(void);
FUNCTION("kprobes_long_insn_target",
	 "	sub $64, %rsp\n"
	 "kprobes_long_insn_site:\n"
	 "	.byte 0x3e, 0x3e, 0x3e, 0xc7, 0x84, 0x24, 8, 0, 0, 0\n"
	 "	.byte 0x78, 0x56, 0x34, 0x12\n"
	 "	add $64, %rsp\n"
	 "	" ASM_RET);

static int long_insn(void)
{
	/* So it is always stepped, never run from a detour. */
	probe.post_handler = after_hit;
	return survives("long_insn", "kprobes_long_insn_site",
			kprobes_long_insn_target);
}

/*
 * A load that crosses into a page that is not there, as
 * load_unaligned_zeropad() does. The fixup decodes the instruction, and under
 * the C implementation finds the breakpoint.
 */
asmlinkage long kprobes_zeropad_target(const void *from);
FUNCTION("kprobes_zeropad_target",
	 "	xor %eax, %eax\n"
	 "kprobes_zeropad_site:\n"
	 "	mov (%rdi), %rax\n"
	 "1:	" ASM_RET
	 _ASM_EXTABLE_TYPE(kprobes_zeropad_site, 1b, EX_TYPE_ZEROPAD));

static void load_at_the_end(void)
{
	void *page = vzalloc(PAGE_SIZE);

	if (page)
		kprobes_zeropad_target(page + PAGE_SIZE - 4);
	vfree(page);
}

static int zeropad(void)
{
	return survives("zeropad", "kprobes_zeropad_site", load_at_the_end);
}

asmlinkage void kprobes_unrecoverable_target(void);
FUNCTION("kprobes_unrecoverable_target",
	 "	xor %ecx, %ecx\n"
	 "kprobes_unrecoverable_site:\n"
	 "	div %ecx\n"
	 "1:	" ASM_RET
	 _ASM_EXTABLE(kprobes_unrecoverable_site, 1b));

/*
 * A probe that is hit by what handles its own instruction's trap: without end,
 * if nobody saw it. As whatever handles a trap and divides by zero itself.
 */
static int on_trap(struct notifier_block *block, unsigned long what, void *data)
{
	struct die_args *args = data;

	if (what == DIE_TRAP && args->trapnr == X86_TRAP_DE)
		kprobes_unrecoverable_target();
	return NOTIFY_DONE;
}

static struct notifier_block traps = { .notifier_call = on_trap };

static int unrecoverable(void)
{
	return register_die_notifier(&traps) ?:
	       survives("unrecoverable", "kprobes_unrecoverable_site",
			kprobes_unrecoverable_target);
}

FUNCTION("kprobes_no_fixup_target",
	 "	xor %ecx, %ecx\n"
	 "kprobes_no_fixup_site:\n"
	 "	div %ecx\n"
	 /* A branch leads into the bytes of a jump, so there is none. */
	 "1:	" ASM_RET
	 "	jmp 1b\n");
FUNCTION("kprobes_no_fixup_jump",
	 "	xor %ecx, %ecx\n"
	 "kprobes_no_fixup_jump_site:\n"
	 "	div %ecx\n"
	 "	lea 1(%rdi), %rax\n"
	 "	" ASM_RET);
FUNCTION("kprobes_no_fixup_after",
	 "	xor %ecx, %ecx\n"
	 "	" ASM_RET);
FUNCTION("kprobes_sleeps_target",
	 ASM_ENDBR
	 "	lea 5(%rdi), %rax\n"
	 "	mov $0x3f, %cl\n"
	 "	" ASM_RET);
FUNCTION("kprobes_lost_way_return_to",
	 "	movq %rdi, (%rsp)\n"
	 "	" ASM_RET);

/*
 * Functions with a way into the middle of what a jump in the place of a
 * breakpoint would be over, that their own code does not show: where a jump
 * label leads that is a NOP so far, and where a branch of another symbol leads,
 * as from what a compiler has split off. Under the C implementation there are
 * jumps all the same, and who comes that way runs the last byte of one.
 */
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

/* Adds five, and six when the key is on. */
FUNCTION("kprobes_way_in_label",
	 ASM_ENDBR
	 "	mov %rdi, %rax\n"
	 "	inc %rax\n"
	 "	lea 5(%rax), %rax\n"
	 "1:	.byte " __stringify(BYTES_NOP5) "\n"
	 JUMP_TABLE_ENTRY("kprobes_way_in_key", ".Lway_in_label")
	 REGION(".Lway_in_label"));
/* Adds five, and by way of the other symbol six. */
FUNCTION("kprobes_way_in_entered", ASM_ENDBR REGION(".Lway_in_entered"));
FUNCTION("kprobes_way_in_cold",
	 ASM_ENDBR
	 "	lea 6(%rdi), %rax\n"
	 "	jmp .Lway_in_entered\n");
FUNCTION("kprobes_way_in_plain", ASM_ENDBR REGION(".Lway_in_plain"));

/* Nothing leads into it. When it is a jump the other one is, or will not be. */
static struct kprobe plain = { .symbol_name = "kprobes_way_in_plain" };

static int way_in(const char *symbol, bool label)
{
	long other;
	int err;

	err = register_at(symbol);
	if (err)
		return err;
	err = register_kprobe(&plain);
	if (err) {
		unregister_kprobe(&probe);
		return err;
	}
	await_jump(&plain);
	pr_info("%s: registered, a %s\n", __func__,
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
	pr_info("%s: survived with %ld, %d hits, after %s jump\n", __func__,
		other, hits, is_jump(&plain) ? "a" : "no");
	return 0;
}

static int static_key(void)
{
	/* MOV, INC, LEA, and the NOP. */
	probe.offset = (IS_ENABLED(CONFIG_X86_KERNEL_IBT) ? 4 : 0) + 15;
	return way_in("kprobes_way_in_label", true);
}

static int other_symbol(void)
{
	return way_in("kprobes_way_in_entered", false);
}

const struct how arch_hows[] = {
	HOW(long_insn), HOW(zeropad), HOW(unrecoverable), HOW(static_key),
	HOW(other_symbol), {}
};

void arch_exit(void)
{
	unregister_kprobe(&plain);
}
