// SPDX-License-Identifier: GPL-2.0
/*
 * Running a form from one of many states, and comparing what it did.
 */
#include <linux/cpufeature.h>
#include <linux/fs.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/string.h>
#include <asm/fpu/api.h>
#include "trial.h"

int states = 8;
module_param(states, int, 0444);
MODULE_PARM_DESC(states, "from how many states each form is run");

bool spare_c;
module_param(spare_c, bool, 0444);
MODULE_PARM_DESC(spare_c, "leave out what kills a kernel with kprobes in C");

char *only;
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "the one group to run");

bool killers;
module_param(killers, bool, 0444);
MODULE_PARM_DESC(killers, "run only what kills a kernel with kprobes in C");

/* cases.S refers to it, so it is not static. */
DECLARE_PER_CPU(u8[PERCPU], forms_percpu);
DEFINE_PER_CPU(u8[PERCPU], forms_percpu);

const char * const fault_names[] = {
	"wrong", "probed though it breaks", "refused though it works",
};

struct forms_state input;
static u8 input_scratch[FORMS_SCRATCH];
static u8 input_percpu[PERCPU];
struct outcome output;
int forms_run_count;

/* Numbers at the edges of their widths are more telling than most others. */
static u64 some_number(struct rnd_state *rnd)
{
	static const u64 edges[] = {
		0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff,
		0x80000000, 0xffffffff, 0x7fffffffffffffff, 0x8000000000000000,
		0xffffffffffffffff,
	};
	u64 number;

	if (prandom_u32_state(rnd) % 4 == 0)
		return edges[prandom_u32_state(rnd) % ARRAY_SIZE(edges)];
	prandom_bytes_state(rnd, &number, sizeof(number));
	return number;
}

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

void make_input(int number)
{
	struct rnd_state rnd;
	int i;

	prandom_seed_state(&rnd, 0x6b70726f62 + number);
	for (i = 0; i < 16; i++)
		input.gpr[i] = some_number(&rnd);
	/* CF, PF, AF, ZF, SF, OF, and DF and IF in turns. */
	input.flags = prandom_u32_state(&rnd) & 0x8d5;
	input.flags |= 2 | (number & 1 ? 0 : X86_EFLAGS_IF) |
		       (number & 2 ? X86_EFLAGS_DF : 0);
	for (i = 0; i < ARRAY_SIZE(input.stack); i++)
		input.stack[i] = some_number(&rnd);
	input.stack[FORMS_STACK / 16] = (unsigned long)forms_astray;
	some_vectors(&rnd, input.xsave);
	prandom_bytes_state(&rnd, input_scratch, sizeof(input_scratch));
	prandom_bytes_state(&rnd, input_percpu, sizeof(input_percpu));
}

void place_window(void)
{
	unsigned long here = (unsigned long)__builtin_frame_address(0);

	forms_window = round_down(here - 3 * FORMS_DISTANCE, 64);
}

noinline void run_once(void (*stub)(void))
{
	/* Lockdep has to know: a fault in the form looks at both. */
	bool off = !(input.flags & X86_EFLAGS_IF);

	WARN_ON_ONCE(forms_window + FORMS_STACK + FORMS_DISTANCE >
		     (unsigned long)__builtin_frame_address(0));
	forms_run_count++;
	memset(&output.state, 0, sizeof(output.state));
	kernel_fpu_begin_mask(KFPU_387 | KFPU_MXCSR);
	memcpy(forms_scratch, input_scratch, sizeof(input_scratch));
	memcpy(this_cpu_ptr(forms_percpu), input_percpu, sizeof(input_percpu));
	if (off)
		local_irq_disable();
	forms_run(&input, &output.state, stub);
	if (off)
		local_irq_enable();
	memcpy(output.scratch, forms_scratch, sizeof(output.scratch));
	memcpy(output.percpu, this_cpu_ptr(forms_percpu), sizeof(output.percpu));
	kernel_fpu_end();
}

/* The first byte from @from on, before @to, that differs; or -1. */
static int differs(const void *one, const void *other, int from, int to)
{
	const u8 *a = one, *b = other;

	if (!memcmp(a + from, b + from, to - from))
		return -1;
	for (; from < to; from++)
		if (a[from] != b[from])
			return from;
	return -1;
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

static const char * const register_names[] = {
	"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
};

static bool gpr_differs(const struct trial *trial, char *what)
{
	const struct outcome *bare = trial->bare;
	int i;

	for (i = 0; i < 16; i++) {
		u64 was = bare->state.gpr[i], is = output.state.gpr[i];

		if (was == is || trial->form->flags & 1 << i)
			continue;
		return tell(what, "%s is %llx, not %llx", register_names[i],
			    is, was);
	}
	return false;
}

bool outcome_differs(const struct trial *trial, char *what)
{
	const struct forms_state *bare = &trial->bare->state;
	const struct forms_state *now = &output.state;
	int at;

	if (bare->where != now->where)
		return tell(what, "it led to %llu, not %llu", now->where,
			    bare->where);
	if (bare->from_sp != now->from_sp)
		return tell(what, "the test's own stack moved");
	if (gpr_differs(trial, what))
		return true;
	if (bare->flags != now->flags)
		return tell(what, "flags are %llx, not %llx", now->flags,
			    bare->flags);
	at = stack_differs(bare, now);
	if (at >= 0)
		return tell(what, "stack[%d] is %llx, not %llx",
			    at - FORMS_STACK / 16, now->stack[at],
			    bare->stack[at]);
	at = differs(trial->bare->scratch, output.scratch, 0, FORMS_SCRATCH);
	if (at >= 0)
		return tell(what, "memory[%d] is %x, not %x",
			    at - FORMS_SCRATCH / 2, output.scratch[at],
			    trial->bare->scratch[at]);
	at = differs(trial->bare->percpu, output.percpu, 0, PERCPU);
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

static struct file *the_switch;

bool allow_jumps(bool yes)
{
	loff_t offset = 0;

	return kernel_write(the_switch, yes ? "1\n" : "0\n", 2, &offset) == 2;
}

int open_switch(void)
{
	if (!IS_ENABLED(CONFIG_OPTPROBES))
		return 0;
	the_switch = filp_open("/proc/sys/debug/kprobes-optimization", O_RDWR,
			       0);
	if (IS_ERR(the_switch))
		return PTR_ERR(the_switch);
	return allow_jumps(false) ? 0 : -EIO;
}

void close_switch(void)
{
	if (IS_ERR_OR_NULL(the_switch))
		return;
	allow_jumps(true);
	filp_close(the_switch, NULL);
	the_switch = NULL;
}

bool left_out(const struct form *form)
{
	bool kills = form->flags & FORM_KILLS_C;

	if (form->feature && !boot_cpu_has(form->feature))
		return true;
	return killers ? !kills : spare_c && kills;
}

void report(struct kunit *test, const struct forms_group *group,
	    struct trial *trials, int count, const char *where)
{
	int wrong = 0, n;

	for (n = 0; n < count; n++) {
		if (!trials[n].what[0])
			continue;
		if (++wrong == 1)
			KUNIT_FAIL(test, "not all forms are as they should be");
		pr_info("forms: %s%s: %s: %s: %s\n",
			fault_names[trials[n].fault], where, group->name,
			form_name(trials[n].form), trials[n].what);
		if (wrong <= 4)
			kunit_info(test, "%s: %s", form_name(trials[n].form),
				   trials[n].what);
	}
	if (wrong)
		kunit_info(test, "%d of %d forms", wrong, count);
}

const void *next_group(struct kunit *test, const void *prev, char *desc)
{
	const struct forms_group *group = prev;

	group = group ? group + 1 : forms_groups;
	if (group == forms_groups + forms_group_count)
		return NULL;
	strscpy(desc, group->name, KUNIT_PARAM_DESC_SIZE);
	return group;
}
