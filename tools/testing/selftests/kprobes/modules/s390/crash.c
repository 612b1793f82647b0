// SPDX-License-Identifier: GPL-2.0
/*
 * The part of kprobes_crash for s390: what kills a kernel with kprobes in C there,
 * and the functions that crash.c has probed.
 */
#include <linux/kthread.h>
#include <linux/linkage.h>
#include <linux/module.h>
#include <asm/ctlreg.h>
#include <asm/ptrace.h>
#include "crash.h"

bool is_jump(const struct kprobe *kp)
{
	return *(const u8 *)READ_ONCE(kp->addr) == 0xc0;
}

FUNCTION("kprobes_no_fixup_target",
	 "	lhi %r1,0\n"
	 "kprobes_no_fixup_site:\n"
	 "	dr %r2,%r1\n"
	 "	br %r14\n");
FUNCTION("kprobes_no_fixup_jump",
	 "	larl %r1,0f\n"
	 "kprobes_no_fixup_jump_site:\n"
	 "	dsg %r2,0(%r1)\n"
	 "	br %r14\n"
	 "	.balign 8\n"
	 "0:	.quad 0\n");
FUNCTION("kprobes_no_fixup_after",
	 "	lhi %r1,0\n"
	 "	br %r14\n");
FUNCTION("kprobes_sleeps_target",
	 "	algfi %r2,5\n"
	 "	br %r14\n");
FUNCTION("kprobes_lost_way_return_to",
	 "	lgr %r14,%r2\n"
	 "	br %r14\n");
FUNCTION("kprobes_called_target",
	 "	la %r2,5(%r2)\n"
	 "	br %r14\n");
FUNCTION("kprobes_told_of_target",
	 "	la %r2,5(%r2)\n"
	 "	br %r14\n");
FUNCTION("kprobes_bic_target",
	 "	.short 0xe3f0, 0x2000, 0x0047\n"
	 "	br %r14\n");
FUNCTION("kprobes_bic_landing", "	br %r14\n");
FUNCTION("kprobes_ssm_target",
	 "	ssm 0(%r2)\n"
	 "	br %r14\n");

asmlinkage long kprobes_called_target(long value);
asmlinkage long kprobes_told_of_target(long value);
asmlinkage void kprobes_bic_target(void (**to)(void));
asmlinkage void kprobes_bic_landing(void);
asmlinkage void kprobes_ssm_target(const u8 *mask);

static int calls_it(void *unused)
{
	long calls = 0;

	while (!kthread_should_stop()) {
		calls += kprobes_called_target(calls) == calls + 5;
		cond_resched_tasks_rcu_qs();
	}
	return calls != 0;
}

/*
 * A probe goes while a CPU is between the breakpoint's trap and the lookup of the
 * probe. In C interrupts are on there.
 */
static int come_and_go(void)
{
	struct task_struct *callers[3];
	int n, err = 0;

	for (n = 0; n < ARRAY_SIZE(callers); n++)
		callers[n] = kthread_run(calls_it, NULL, "kprobes_calls");
	for (n = 0; n < 100 && !err; n++) {
		probe.addr = NULL;
		probe.flags = 0;
		err = register_at("kprobes_called_target");
		if (!err)
			unregister_kprobe(&probe);
	}
	for (n = 0; n < ARRAY_SIZE(callers); n++)
		if (IS_ERR(callers[n]) || !kthread_stop(callers[n]))
			err = -ECHILD;
	probe.addr = NULL;
	probe.flags = 0;
	if (!err)
		pr_info("%s: survived %d hits\n", __func__, hits);
	return err;
}

/* A handler has the CPU tell of an instruction, as a debugger would. */
static int is_told(struct kprobe *p, struct pt_regs *regs)
{
	struct ctlreg old[3], per[3] = {
		{ .val = PER_EVENT_IFETCH },
		{ .val = (unsigned long)kprobes_told_of_target },
		{ .val = (unsigned long)kprobes_told_of_target },
	};

	__local_ctl_store(9, 11, old);
	__local_ctl_load(9, 11, per);
	__arch_local_irq_stosm(0x40);
	hits += kprobes_told_of_target(1) == 6;
	__arch_local_irq_stnsm(0xbf);
	__local_ctl_load(9, 11, old);
	return 0;
}

static void call(void)
{
	kprobes_called_target(1);
}

static int foreign_event(void)
{
	probe.pre_handler = is_told;
	return survives(__func__, "kprobes_called_target", call);
}

/* Where this branch leads stands in memory. C takes that for a distance. */
static void branch(void)
{
	static void (*to)(void) = kprobes_bic_landing;

	kprobes_bic_target(&to);
}

static int bic(void)
{
	return survives(__func__, "kprobes_bic_target", branch);
}

/*
 * The mask forbids interrupts, and PER events, with which C steps: the step has no
 * end.
 */
static void forbid(void)
{
	unsigned long flags = __arch_local_irq_stosm(0);
	u8 mask = flags >> 56 & ~3;

	kprobes_ssm_target(&mask);
	if (!raw_irqs_disabled())
		hits = 0;
	raw_local_irq_restore(flags);
}

static int ssm(void)
{
	return survives(__func__, "kprobes_ssm_target", forbid);
}

const struct how arch_hows[] = {
	HOW(come_and_go), HOW(foreign_event), HOW(bic), HOW(ssm), {}
};
