// SPDX-License-Identifier: GPL-2.0
/*
 * The states of an arm CPU that forms are run from, and what is compared.
 */
#include <linux/irqflags.h>
#include <linux/preempt.h>
#include <linux/prandom.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <asm/domain.h>
#include <asm/neon.h>
#include <asm/opcodes.h>
#include "trial.h"

/* What form->contents says of a register; description.py has the same names. */
enum contents { ANY, S, INDEX, TARGET, BEFORE, POINTER, PSR, ZERO };

#define GE_BITS	0x000f0000

/* Words that are where a branch is to lead; some branches read that here. */
static u32 targets[16];
static u64 numbers[16];

const char * const register_names[] = {
	"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7",
	"r8", "r9", "r10", "r11", "r12", "sp", "lr", "pc",
};

void make_state(struct rnd_state *rnd, int number)
{
	int i;

	BUILD_BUG_ON(offsetof(struct forms_state, flags) != FORMS_FLAGS);
	BUILD_BUG_ON(offsetof(struct forms_state, where) != FORMS_WHERE);
	BUILD_BUG_ON(offsetof(struct forms_state, stack) != FORMS_STACK_AT);
	memcpy(numbers, input.gpr, sizeof(numbers));
	/*
	 * In 16 states each combination of the flags; in 64, with interrupts on and
	 * off. A task that goes on where another one was preempted has asynchronous
	 * aborts masked, another time it has not: here they never are.
	 */
	input.flags = arch_local_save_flags() &
		      ~(PSR_N_BIT | PSR_Z_BIT | PSR_C_BIT | PSR_V_BIT |
			PSR_Q_BIT | GE_BITS | PSR_I_BIT | PSR_A_BIT);
	input.flags |= (u32)(number * 11 + 6) % 16 << 28;
	input.flags |= number % 3 == 2 ? PSR_Q_BIT : 0;
	input.flags |= (number ^ number >> 4) & 2 ? PSR_I_BIT : 0;
	input.flags |= prandom_u32_state(rnd) & GE_BITS;
	for (i = 0; i < ARRAY_SIZE(input.stack); i++)
		input.stack[i] = some_number(rnd);
	for (i = 0; i < ARRAY_SIZE(input.vfp) - 1; i++)
		input.vfp[i] = some_number(rnd);
}

static u32 content(const struct form *form, int number)
{
	u32 scratch = (u32)forms_scratch + FORMS_SCRATCH / 2;
	const u32 contents[] = {
		[ANY] = numbers[number],
		[S] = scratch,
		[INDEX] = 8,
		[TARGET] = targets[0],
		[BEFORE] = targets[0] - 8,
		[POINTER] = (u32)(targets + ARRAY_SIZE(targets) / 2),
		/* Interrupts as they are not now. */
		[PSR] = input.flags ^ PSR_I_BIT ^ PSR_N_BIT,
	};
	u8 pair = form->arch.contents[number / 2];

	return contents[number % 2 ? pair & 15 : pair >> 4];
}

void find_state_at(const struct form *form, struct forms_state *there)
{
	int i;

	memset32(targets, (u32)form_taken(form) | IS_ENABLED(CONFIG_THUMB2_KERNEL),
		 ARRAY_SIZE(targets));
	for (i = 0; i < 15; i++)
		input.gpr[i] = content(form, i);
	input.gpr[13] = forms_window + FORMS_BELOW;
	input.gpr[15] = 0;
	*there = input;
}

void run_form(const struct form *form)
{
	static struct forms_state there;

	find_state_at(form, &there);
	if (form->flags & FORM_STACK_LEADS)
		memset32(input.stack, targets[0], ARRAY_SIZE(input.stack));
	run_once(form_stub(form));
	memcpy(input.stack, there.stack, sizeof(input.stack));
}

/* Of a domain's memory, whose rights are not looked at. DOMAIN_MANAGER may be less. */
#define MANAGER		3

/* The kernel's memory is open to instructions that have the rights of a user. */
void enter(void (*stub)(void))
{
	const u64 *from = input.vfp;
	u64 *to = output.state.vfp;
	unsigned int domains;

	guard(preempt)();
	domains = get_domain();
	set_domain(domains | domain_val(DOMAIN_KERNEL, MANAGER));
	if (irqs_disabled()) {
		forms_run(&input, &output.state, stub);
		memcpy(to, from, sizeof(input.vfp));
		set_domain(domains);
		return;
	}
	kernel_neon_begin();
	asm volatile(".fpu neon\n vldmia %0!, {d0-d15}\n vldmia %0!, {d16-d31}\n"
		     "vmsr fpscr, %1" : "+&r" (from) : "r" (0) : "memory");
	forms_run(&input, &output.state, stub);
	asm volatile(".fpu neon\n vstmia %0!, {d0-d15}\n vstmia %0!, {d16-d31}\n"
		     "vmrs r3, fpscr\n str r3, [%0]" : "+r" (to) : : "r3", "memory");
	/* Lockdep has not seen the form's interrupts go on and off. */
	local_irq_disable();
	local_irq_enable();
	set_domain(domains);
	kernel_neon_end();
}

bool cpu_lacks(const struct form *form)
{
	/* Domains open nothing there. */
	return IS_ENABLED(CONFIG_ARM_LPAE) && form->flags & FORM_FOR_USERS;
}

bool has_faulted(const struct trial *trial)
{
	return false;
}

/* What is below SP in the end is anybody's. */
bool rest_differs(const struct trial *trial, char *what)
{
	const struct forms_state *bare = &trial->bare->state;
	const struct forms_state *now = &output.state;
	int used = (int)(bare->gpr[13] - forms_window);
	int at = differs(bare->stack, now->stack, clamp(used, 0, FORMS_STACK),
			 FORMS_STACK);

	if (at >= 0)
		return tell(what, "stack[%d] differs", at - FORMS_BELOW);
	if (memcmp(bare->vfp, now->vfp, sizeof(now->vfp)))
		return tell(what, "registers of VFP differ");
	return false;
}

bool registers_differ(const struct pt_regs *shown,
		      const struct forms_state *expected, char *what)
{
	for (int i = 0; i < 15; i++) {
		if (shown->uregs[i] != expected->gpr[i])
			return tell(what, "the handler is shown %s %lx, not %llx",
				    register_names[i], shown->uregs[i], expected->gpr[i]);
	}
	/* MRS does not read the state of Thumb code. */
	if ((shown->ARM_cpsr & ~(PSR_T_BIT | PSR_IT_MASK)) != expected->flags)
		return tell(what, "the handler is shown cpsr %lx, not %llx",
			    shown->ARM_cpsr, expected->flags);
	return false;
}

/* A breakpoint is hit if the instruction's condition is true. */
int hits(const struct form *form, int position,
	 const struct forms_state *there)
{
	return arm_check_condition((u32)form->arch.condition << 28, there->flags) !=
	       ARM_OPCODE_CONDTEST_FAIL;
}
