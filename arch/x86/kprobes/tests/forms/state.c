// SPDX-License-Identifier: GPL-2.0
/*
 * The states of an x86 CPU that forms are run from, and what is compared.
 */
#include <linux/cpufeature.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/string.h>
#include <asm/fpu/api.h>
#include "trial.h"

/* cases.S refers to it, so it is not static. */
DECLARE_PER_CPU(u8[FORMS_PERCPU], forms_percpu);
DEFINE_PER_CPU(u8[FORMS_PERCPU], forms_percpu);

static u8 input_percpu[FORMS_PERCPU];

/* Vector registers have their lanes filled, x87 ones are normal numbers. */
static void some_vectors(struct rnd_state *rnd, u8 *xsave)
{
	u32 mxcsr = 0x1f80 | (prandom_u32_state(rnd) % 4) << 13;
	u16 control = 0x37f;
	int i;

	memset(xsave, 0, FORMS_XSAVE);
	prandom_bytes_state(rnd, xsave + 160, 256);
	prandom_bytes_state(rnd, xsave + 576, 256);
	memcpy(xsave, &control, 2);
	xsave[4] = 0xff;
	memcpy(xsave + 24, &mxcsr, 4);
	for (i = 0; i < 8; i++) {
		u16 exponent = 0x3fff + prandom_u32_state(rnd) % 8;

		prandom_bytes_state(rnd, xsave + 32 + i * 16, 8);
		xsave[32 + i * 16 + 7] |= 0x80;
		memcpy(xsave + 32 + i * 16 + 8, &exponent, 2);
	}
	/* XSTATE_BV: all three components are there. */
	xsave[512] = 7;
}

void make_state(struct rnd_state *rnd, int number)
{
	int i;

	/* CF, PF, AF, ZF, SF, OF, and DF and IF in turns. */
	input.flags = prandom_u32_state(rnd) & 0x8d5;
	input.flags |= 2 | (number & 1 ? 0 : X86_EFLAGS_IF) |
		       (number & 2 ? X86_EFLAGS_DF : 0);
	for (i = 0; i < ARRAY_SIZE(input.stack); i++)
		input.stack[i] = some_number(rnd);
	input.stack[FORMS_STACK / 16] = (unsigned long)forms_astray;
	some_vectors(rnd, input.xsave);
	prandom_bytes_state(rnd, input_percpu, sizeof(input_percpu));
}

void enter(void (*stub)(void))
{
	/* Lockdep has to know: a fault in the form looks at both. */
	bool off = !(input.flags & X86_EFLAGS_IF);

	kernel_fpu_begin_mask(KFPU_387 | KFPU_MXCSR);
	memcpy(this_cpu_ptr(forms_percpu), input_percpu, sizeof(input_percpu));
	if (off)
		local_irq_disable();
	forms_run(&input, &output.state, stub);
	if (off)
		local_irq_enable();
	memcpy(output.percpu, this_cpu_ptr(forms_percpu), sizeof(output.percpu));
	kernel_fpu_end();
}

void run_form(const struct form *form)
{
	run_once(form_stub(form));
}

void find_state_at(const struct form *form, struct forms_state *there)
{
	run_once(form_up_to(form, FORMS_FIRST));
	*there = output.state;
}

bool cpu_lacks(const struct form *form)
{
	return !boot_cpu_has(X86_FEATURE_AVX) ||
	       (form->arch.feature && !boot_cpu_has(form->arch.feature));
}

bool has_faulted(const struct trial *trial)
{
	return trial->form->flags & FORM_FAULTS;
}

/*
 * What is below the first RSP belongs to traps, but for what the form itself
 * wrote there, and what is below the last RSP to nobody.
 */
static int stack_differs(const struct forms_state *bare,
			 const struct forms_state *now)
{
	long last = (long)(bare->gpr[4] - bare->from_sp) / 8;
	int middle = ARRAY_SIZE(bare->stack) / 2;
	/*
	 * C's PUSHF pushes RF, which is set if an interrupt came right before
	 * the breakpoint: too seldom to be a known defect.
	 */
	u64 ignored = spare_c ? X86_EFLAGS_RF : 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(bare->stack); i++) {
		if (i - middle < last)
			continue;
		if (i < middle && bare->stack[i] == input.stack[i])
			continue;
		if ((bare->stack[i] ^ now->stack[i]) & ~ignored)
			return i;
	}
	return -1;
}

const char * const register_names[] = {
	"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
};

bool rest_differs(const struct trial *trial, char *what)
{
	const struct forms_state *bare = &trial->bare->state;
	const struct forms_state *now = &output.state;
	int at;

	if (bare->from_sp != now->from_sp)
		return tell(what, "the test's own stack moved");
	at = stack_differs(bare, now);
	if (at >= 0)
		return tell(what, "stack[%d] is %llx, not %llx",
			    at - FORMS_STACK / 16, now->stack[at],
			    bare->stack[at]);
	at = differs(trial->bare->percpu, output.percpu, 0, FORMS_PERCPU);
	if (at >= 0)
		return tell(what, "CPU's memory[%d] differs", at);
	/* All but the last x87 instruction's opcode and addresses. */
	at = differs(bare->xsave, now->xsave, 0, 6);
	if (at < 0)
		at = differs(bare->xsave, now->xsave, 24, 416);
	if (at < 0)
		at = differs(bare->xsave, now->xsave, 576, FORMS_XSAVE);
	if (at >= 0)
		return tell(what, "FPU state[%d] is %x, not %x", at,
			    now->xsave[at], bare->xsave[at]);
	return false;
}

bool registers_differ(const struct pt_regs *shown,
		      const struct forms_state *expected, char *what)
{
	const unsigned long *gpr[] = {
		&shown->ax, &shown->cx, &shown->dx, &shown->bx,
		&shown->sp, &shown->bp, &shown->si, &shown->di,
		&shown->r8, &shown->r9, &shown->r10, &shown->r11,
		&shown->r12, &shown->r13, &shown->r14, &shown->r15,
	};
	int i;

	for (i = 0; i < 16; i++) {
		if (*gpr[i] == expected->gpr[i])
			continue;
		return tell(what, "the handler is shown %s %lx, not %llx",
			    register_names[i], *gpr[i], expected->gpr[i]);
	}
	/* An interrupt before the breakpoint may have set RF. */
	if ((shown->flags ^ expected->flags) & ~X86_EFLAGS_RF)
		return tell(what, "the handler is shown flags %lx, not %llx",
			    shown->flags, expected->flags);
	return false;
}

int hits(const struct form *form, int position,
	 const struct forms_state *there)
{
	bool carry = there->flags & X86_EFLAGS_CF;

	if (!(form->flags & FORM_AGAIN))
		return 1;
	/* What is before the form inverts it. */
	return 1 + (position == FORMS_FIRST ? carry : !carry);
}

bool post_wrong(const struct form *form, const struct pt_regs *shown,
		char *what)
{
	u64 flags = output.state.flags;

	if (shown->sp != output.state.gpr[4])
		return tell(what, "after: sp is %lx, not %llx", shown->sp,
			    output.state.gpr[4]);
	/* What follows each form inverts the carry. */
	if (output.state.where == FORMS_FELL)
		flags ^= X86_EFLAGS_CF;
	if ((shown->flags ^ flags) & ~X86_EFLAGS_RF)
		return tell(what, "after: flags are %lx, not %llx",
			    shown->flags, flags);
	return false;
}
