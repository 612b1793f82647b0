// SPDX-License-Identifier: GPL-2.0
/*
 * The states of an s390 CPU that forms are run from, and what is compared.
 */
#include <linux/fpu.h>
#include <linux/kdebug.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/prandom.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include "trial.h"

/* What form->contents says of a register; description.py has the same names. */
enum contents {
	ANY, S, T, INDEX, LENGTH, ONE, HIGH, ZERO, TARGET, BEFORE, POINTER,
	MASKS, NOWHERE, BEYOND,
};

/* DAT on; I/O and external interrupts off, either on, both on. */
static const u8 masks[] = { 0x04, 0x05, 0x06, 0x07 };

/* Where a branch is to lead; some branches read that here. */
static u64 target;
static u64 numbers[16];

/* The form that runs. */
static const struct form *running;

const char * const register_names[] = {
	"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
};

void make_state(struct rnd_state *rnd, int number)
{
	int i;

	BUILD_BUG_ON(offsetof(struct forms_state, fpc) != FORMS_FPC);
	BUILD_BUG_ON(offsetof(struct forms_state, acr) != FORMS_ACR);
	BUILD_BUG_ON(offsetof(struct forms_state, stack) != FORMS_STACK_AT);
	BUILD_BUG_ON(offsetof(struct forms_state, vxr) != FORMS_VXR);
	memcpy(numbers, input.gpr, sizeof(numbers));
	/* Each condition code, with interrupts off and on. */
	input.flags = __extract_psw() & ~(PSW_MASK_CC | PSW_MASK_PM |
					  PSW_MASK_IO | PSW_MASK_EXT);
	input.flags |= (u64)(number & 3) << 44;
	if (number & 4)
		input.flags |= PSW_MASK_IO | PSW_MASK_EXT;
	/* Overflow and the like are exceptions. */
	if (number % 3 == 2)
		input.flags |= PSW_MASK_PM;
	prandom_bytes_state(rnd, input.acr, sizeof(input.acr));
	prandom_bytes_state(rnd, input.vxr, sizeof(input.vxr));
	for (i = 0; i < ARRAY_SIZE(input.stack); i++)
		input.stack[i] = some_number(rnd);
	/* Nobody called the form. */
	input.stack[0] = 0;
	input.fpc = prandom_u32_state(rnd) % 4;
}

static u64 content(const struct form *form, int number)
{
	u64 scratch = (u64)forms_scratch + FORMS_SCRATCH / 2;
	const u64 contents[] = {
		[ANY] = numbers[number],
		[S] = scratch,
		[T] = scratch + 64,
		[INDEX] = 8,
		[LENGTH] = numbers[number] & 31,
		[ONE] = 1,
		[HIGH] = 1UL << 32,
		[TARGET] = target,
		[BEFORE] = target - 16,
		[POINTER] = (u64)&target,
		[MASKS] = (u64)masks,
		/* Not mapped, and not reached by page tables. */
		[NOWHERE] = 1UL << 41,
		[BEYOND] = 1UL << 62,
	};
	u8 pair = form->arch.contents[number / 2];

	return contents[number % 2 ? pair & 15 : pair >> 4];
}

void find_state_at(const struct form *form, struct forms_state *there)
{
	int i;

	target = (u64)form_taken(form);
	for (i = 0; i < 15; i++)
		input.gpr[i] = content(form, i);
	input.gpr[15] = forms_window;
	*there = input;
}

void run_form(const struct form *form)
{
	static struct forms_state there;

	find_state_at(form, &there);
	running = form;
	run_once(form_stub(form));
	running = NULL;
}

void enter(void (*stub)(void))
{
	DECLARE_KERNEL_FPU_ONSTACK32(fpu);
	int i;

	/* Some instructions go on to a zero. */
	for (i = 0; i < FORMS_SCRATCH / 8; i += 4)
		forms_scratch[i] &= ~0UL >> 16;
	kernel_fpu_begin(&fpu, KERNEL_FPC | KERNEL_VXR);
	forms_run(&input, &output.state, stub);
	kernel_fpu_end(&fpu, KERNEL_FPC | KERNEL_VXR);
}

/*
 * An exception ends a form, and the address in the PSW must be of the form then:
 * the first one, or that behind it.
 */
static int fault(struct notifier_block *block, unsigned long reason, void *data)
{
	struct pt_regs *regs = ((struct die_args *)data)->regs;
	void *at = (void *)regs->psw.addr;

	if (reason != DIE_TRAP || !running ||
	    (at != form_site(running, FORMS_FIRST) && at != form_next(running)))
		return NOTIFY_DONE;
	output.state.fault = regs->int_code;
	regs->psw.addr = (unsigned long)forms_faulted;
	return NOTIFY_STOP;
}

static struct notifier_block faults = { .notifier_call = fault };

static int __init forms_state_init(void)
{
	return register_die_notifier(&faults);
}
module_init(forms_state_init);

static void __exit forms_state_exit(void)
{
	unregister_die_notifier(&faults);
}
module_exit(forms_state_exit);

bool cpu_lacks(const struct form *form)
{
	/* Then it faults, which is compared as well. */
	return false;
}

bool has_faulted(const struct trial *trial)
{
	return trial->bare->state.where == FORMS_FAULTED;
}

bool rest_differs(const struct trial *trial, char *what)
{
	const struct forms_state *bare = &trial->bare->state;
	const struct forms_state *now = &output.state;
	int at;

	if (bare->fault != now->fault)
		return tell(what, "exception %x, not %x", now->fault,
			    bare->fault);
	if (bare->fpc != now->fpc)
		return tell(what, "fpc is %x, not %x", now->fpc, bare->fpc);
	at = differs(bare->acr, now->acr, 0, sizeof(bare->acr));
	if (at >= 0)
		return tell(what, "access register %d differs", at / 4);
	at = differs(bare->vxr, now->vxr, 0, sizeof(bare->vxr));
	if (at >= 0)
		return tell(what, "vector register %d differs", at / 16);
	at = differs(bare->stack, now->stack, 0, sizeof(bare->stack));
	if (at >= 0)
		return tell(what, "stack[%d] differs", at);
	if (trial->form->flags & FORM_VARIES)
		memcpy(output.scratch, trial->bare->scratch, FORMS_SCRATCH);
	return false;
}

bool registers_differ(const struct pt_regs *shown,
		      const struct forms_state *expected, char *what)
{
	for (int i = 0; i < 16; i++) {
		if (shown->gprs[i] != expected->gpr[i])
			return tell(what, "the handler is shown %s %lx, not %llx",
				    register_names[i], shown->gprs[i], expected->gpr[i]);
	}
	if (shown->psw.mask != expected->flags)
		return tell(what, "the handler is shown mask %lx, not %llx",
			    shown->psw.mask, expected->flags);
	return false;
}

int hits(const struct form *form, int position,
	 const struct forms_state *there)
{
	return 1;
}
