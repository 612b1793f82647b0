// SPDX-License-Identifier: GPL-2.0
/*
 * What kills a kernel with kprobes in C, or with either implementation. Loaded
 * with "how" for one of these, in a boot of its own where the kernel must die.
 */
#include <linux/delay.h>
#include <linux/jump_label.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/text-patching.h>
#include <linux/vmalloc.h>
#include <asm/asm.h>
#include <asm/trapnr.h>
#include "probed.h"

static int hits;

static int count_hit(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static void after_hit(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe probe = { .pre_handler = count_hit };

static int register_at(const char *symbol)
{
	probe.symbol_name = symbol;
	return register_kprobe(&probe);
}

/* Hits a probe there once, or more than once, and says that nothing came of it. */
static int survives(const char *how, const char *symbol, void (*hit)(void))
{
	int err = register_at(symbol);

	if (err)
		return err;
	pr_info("%s: registered\n", how);
	hit();
	pr_info("%s: survived %d hits\n", how, hits);
	return 0;
}

static bool is_jump(const struct kprobe *kp)
{
	return *(const u8 *)READ_ONCE(kp->addr) == JMP32_INSN_OPCODE;
}

#define FUNCTION(name, body)						\
	asm(".pushsection .text\n"					\
	    ".globl " name "\n"						\
	    ".type " name ", @function\n"				\
	    name ":\n"							\
	    body							\
	    ".size " name ", . - " name "\n"				\
	    ".popsection\n")

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

/*
 * A probe that is hit by what handles its own instruction's trap: without end,
 * if nobody saw it.
 */
asmlinkage void kprobes_unrecoverable_target(void);
FUNCTION("kprobes_unrecoverable_target",
	 "	xor %ecx, %ecx\n"
	 "kprobes_unrecoverable_site:\n"
	 "	div %ecx\n"
	 "1:	" ASM_RET
	 _ASM_EXTABLE(kprobes_unrecoverable_site, 1b));

/* As whatever handles a trap and divides by zero itself. */
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

/*
 * Divisions by zero that kill the task: one that goes on by itself, one that is
 * stepped, one behind a jump. The CPU has to handle hits after each. Who is
 * asked whether to go on is given the registers that the CPU would go on with:
 * of the one behind the jump, in the copy.
 */
asmlinkage void kprobes_no_fixup_target(void);
asmlinkage void kprobes_no_fixup_after(void);
FUNCTION("kprobes_no_fixup_target",
	 "	xor %ecx, %ecx\n"
	 "kprobes_no_fixup_site:\n"
	 "	div %ecx\n"
	 /* A branch leads into the bytes of a jump, so there is none. */
	 "1:	" ASM_RET
	 "	jmp 1b\n");
asmlinkage void kprobes_no_fixup_jump(void);
FUNCTION("kprobes_no_fixup_jump",
	 "	xor %ecx, %ecx\n"
	 "kprobes_no_fixup_jump_site:\n"
	 "	div %ecx\n"
	 "	lea 1(%rdi), %rax\n"
	 "	" ASM_RET);
FUNCTION("kprobes_no_fixup_after",
	 "	xor %ecx, %ecx\n"
	 "	" ASM_RET);

static int divide(void *function)
{
	((void (*)(void))function)();
	return 0;
}

static void *divided;

static int on_oops(struct notifier_block *block, unsigned long what, void *data)
{
	struct die_args *args = data;

	if (what == DIE_OOPS)
		pr_info("no_fixup: to go on in the %s\n",
			args->regs->ip == (long)divided ? "original" : "copy");
	return NOTIFY_DONE;
}

static struct notifier_block oopses = { .notifier_call = on_oops };

static int hit_after(void *unused)
{
	kprobes_no_fixup_after();
	return 0;
}

/* Until the thread is no more: by itself, or because it was killed. */
static int run_in_thread(int (*function)(void *), void *data, int cpu)
{
	struct task_struct *thread = kthread_create(function, data, "crash");

	if (IS_ERR(thread))
		return PTR_ERR(thread);
	if (cpu >= 0)
		kthread_bind(thread, cpu);
	get_task_struct(thread);
	wake_up_process(thread);
	while (!READ_ONCE(thread->exit_state))
		msleep(20);
	put_task_struct(thread);
	return 0;
}

static int try(const char *how, kprobe_post_handler_t post, void *function,
	       const char *symbol, bool jump)
{
	struct kprobe site = {
		.symbol_name = symbol,
		.pre_handler = count_hit,
		.post_handler = post,
	};
	struct kprobe after = {
		.symbol_name = "kprobes_no_fixup_after",
		.pre_handler = count_hit,
	};
	int err = register_kprobe(&site) ?: register_kprobe(&after);
	int moments = 1000;

	if (err)
		return err;
	divided = site.addr;
	while (jump && !is_jump(&site) && moments--)
		msleep(20);
	pr_info("no_fixup: %s: registered\n", how);
	hits = 0;
	err = run_in_thread(divide, function, 0);
	pr_info("no_fixup: %s: %d hits of 1\n", how, hits);
	hits = 0;
	err = err ?: run_in_thread(hit_after, NULL, 0);
	pr_info("no_fixup: %s: %d hits of 1 after\n", how, hits);
	unregister_kprobe(&after);
	unregister_kprobe(&site);
	return err;
}

static int no_fixup(void)
{
	int err = register_die_notifier(&oopses) ?:
		  try("goes on", NULL, kprobes_no_fixup_target,
		      "kprobes_no_fixup_site", false) ?:
		  try("stepped", after_hit, kprobes_no_fixup_target,
		      "kprobes_no_fixup_site", false) ?:
		  try("jumps", NULL, kprobes_no_fixup_jump,
		      "kprobes_no_fixup_jump_site", true);

	unregister_die_notifier(&oopses);
	return err;
}

/*
 * A return probe that cannot be registered, and is unregistered all the same
 * (defect D4).
 */
static int not_watched(void)
{
	static struct kretprobe rp = {
		.kp.symbol_name = "kprobes_no_such_symbol",
	};

	pr_info("not_watched: refused by %d\n", register_kretprobe(&rp));
	unregister_kretprobe(&rp);
	pr_info("not_watched: survived\n");
	return 0;
}

/*
 * What must not be of calls that return probes watch. First what is known of
 * a call's frame is made wrong, twice: its client is not told, which is warned
 * of once. Then a task comes to the trampoline by itself, and nobody knows
 * where it would go on.
 */
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

/* It returns to where it is told to. */
asmlinkage void kprobes_lost_way_return_to(unsigned long to);
FUNCTION("kprobes_lost_way_return_to",
	 "	movq %rdi, (%rsp)\n"
	 "	" ASM_RET);

static int lost_way(void)
{
	static struct kretprobe rp = {
		.kp.symbol_name = "kprobes_lost_way_function",
		.entry_handler = enters,
		.handler = returns,
	};
	int err = register_kretprobe(&rp), n, back = 0;

	if (err)
		return err;
	for (n = 1; n <= 2; n++) {
		back += kprobes_lost_way_function() == 5;
		pr_info("lost_way: %d back of %d, %d told\n", back, n, told);
	}
	unregister_kretprobe(&rp);
	pr_info("lost_way: goes\n");
	kprobes_lost_way_return_to(trampoline);
	pr_info("lost_way: survived\n");
	return 0;
}

/*
 * A probe with a post handler joins one without where ftrace calls from, and
 * goes last. The C implementation asks ftrace to stop what it has not begun,
 * keeps the probe after all, and says nothing: its memory is free, and used by
 * the next hit.
 */
static noinline void kprobes_posts_target(void)
{
	barrier();
}

static void (*call_target)(void) = kprobes_posts_target;

static int posts(void)
{
	struct kprobe *last = vzalloc(sizeof(*last));
	int err;

	if (!last)
		return -ENOMEM;
	last->symbol_name = "kprobes_posts_target";
	last->pre_handler = count_hit;
	last->post_handler = after_hit;
	err = register_at("kprobes_posts_target") ?: register_kprobe(last);
	if (err)
		return err;
	pr_info("%s: registered\n", __func__);
	READ_ONCE(call_target)();
	unregister_kprobe(&probe);
	unregister_kprobe(last);
	vfree(last);
	vm_unmap_aliases();
	READ_ONCE(call_target)();
	pr_info("%s: survived %d hits\n", __func__, hits);
	return 0;
}

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
	int err, moments = 1000;
	long other;

	err = register_at(symbol);
	if (err)
		return err;
	err = register_kprobe(&plain);
	if (err) {
		unregister_kprobe(&probe);
		return err;
	}
	while (!is_jump(&plain) && moments--)
		msleep(20);
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

/*
 * A handler that sleeps, which none may, in the detour of a jump: with a probe
 * that stays, and with one that is unregistered meanwhile, so that there is no
 * detour to come back to.
 */
static int sleep_in_handler(struct kprobe *p, struct pt_regs *regs)
{
	fsleep(2 * USEC_PER_SEC);
	return 0;
}

static struct kprobe sleeping = {
	.symbol_name = "kprobes_way_in_plain",
	.pre_handler = sleep_in_handler,
};

static int call_and_sleep(void *unused)
{
	pr_info("sleeps: back with %ld\n", kprobes_way_in_plain(1));
	return 0;
}

static void unregister_sleeping(struct work_struct *unused)
{
	unregister_kprobe(&sleeping);
	pr_info("sleeps: unregistered\n");
}

static DECLARE_DELAYED_WORK(unregistering, unregister_sleeping);

static int sleeps(void)
{
	int err = register_kprobe(&sleeping), moments = 1000;

	if (err)
		return err;
	while (!is_jump(&sleeping) && moments--)
		msleep(20);
	pr_info("sleeps: registered, %s jump\n", is_jump(&sleeping) ? "a" : "no");
	err = run_in_thread(call_and_sleep, NULL, -1);
	schedule_delayed_work(&unregistering, HZ / 2);
	err = err ?: run_in_thread(call_and_sleep, NULL, -1);
	flush_delayed_work(&unregistering);
	pr_info("sleeps: goes\n");
	return err;
}

static char *how = "";
module_param(how, charp, 0);

#define HOW(name)	{ #name, name }

static const struct {
	const char *name;
	int (*run)(void);
} hows[] = {
	HOW(long_insn), HOW(zeropad), HOW(unrecoverable), HOW(no_fixup),
	HOW(not_watched), HOW(lost_way), HOW(posts), HOW(static_key),
	HOW(other_symbol), HOW(sleeps),
};

static int result;

static int run(void *data)
{
	int (*function)(void) = data;

	result = function();
	return 0;
}

/* The thread may die, but the module can be unloaded, and loaded again. */
static int __init crash_init(void)
{
	int n;

	for (n = 0; n < ARRAY_SIZE(hows); n++)
		if (!strcmp(how, hows[n].name))
			return run_in_thread(run, hows[n].run, -1) ?: result;
	return -EINVAL;
}
module_init(crash_init);

static void __exit crash_exit(void)
{
	unregister_kprobe(&plain);
	unregister_kprobe(&probe);
}
module_exit(crash_exit);

MODULE_DESCRIPTION("Probes that kill a kernel");
MODULE_LICENSE("GPL");
