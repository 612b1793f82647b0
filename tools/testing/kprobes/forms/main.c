// SPDX-License-Identifier: GPL-2.0
/*
 * Does an instruction do the same with a probe on it as without?
 *
 * Each form (an instruction in a place of its own, see description.py) is run
 * from several states of all registers, of its part of the stack, and of the
 * memory that its operand is in:
 *
 *	bare		twice, to see that it always does the same
 *	pre		with a probe that has no handler after it, so that
 *			nothing is called after the instruction
 *	post		with one that has, so that the instruction comes back
 *	disabled	with that one disabled
 *
 * and whatever is different after it is an error, as are handlers that ran too
 * often, not at all, or saw another place. One KUnit case for each group.
 *
 * The method is that of arch/arm/probes/kprobes/test-core.c.
 */
#include <kunit/test.h>
#include <linux/cpu.h>
#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/string.h>
#include <asm/fpu/api.h>
#include "forms.h"

static int states = 8;
module_param(states, int, 0444);
MODULE_PARM_DESC(states, "from how many states each form is run");

static bool spare_c;
module_param(spare_c, bool, 0444);
MODULE_PARM_DESC(spare_c, "leave out what kills a kernel with kprobes in C");

static char *only;
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "the one group to run");

static bool killers;
module_param(killers, bool, 0444);
MODULE_PARM_DESC(killers, "run only what kills a kernel with kprobes in C");

#define PERCPU		64

/* cases.S refers to it, so it is not static. */
DECLARE_PER_CPU(u8[PERCPU], forms_percpu);
DEFINE_PER_CPU(u8[PERCPU], forms_percpu);

enum way { BARE, AGAIN, PRE, POST, DISABLED };

static const char * const way_names[] = {
	"bare", "bare again", "pre", "post", "disabled",
};

/* What is compared. */
struct outcome {
	struct forms_state state;
	u8 scratch[FORMS_SCRATCH];
	u8 percpu[PERCPU];
};

/* What the handlers saw. */
static struct {
	int pre;
	int post;
	unsigned long pre_ip;
	unsigned long post_ip;
	unsigned long post_sp;
	unsigned long post_flags;
} seen;

/* What can be wrong with a form; the worst comes first. */
enum fault { WRONG, UNREFUSED, REFUSED };

static const char * const fault_names[] = {
	"wrong", "probed though it breaks", "refused though it works",
};

/* A form of the group at hand, with its probe. */
struct trial {
	const struct form *form;
	struct kprobe probe;
	struct outcome *bare;
	enum fault fault;
	char what[120];
};

static struct forms_state input;
static u8 input_scratch[FORMS_SCRATCH];
static u8 input_percpu[PERCPU];
static struct outcome output;
static int forms_run_count, forms_left_out, forms_to_refuse;

static int before(struct kprobe *p, struct pt_regs *regs)
{
	seen.pre++;
	seen.pre_ip = regs->ip;
	return 0;
}

static void after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	seen.post++;
	seen.post_ip = regs->ip;
	seen.post_sp = regs->sp;
	seen.post_flags = regs->flags;
}

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

static void make_input(int number)
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

static noinline void run_once(const struct form *form)
{
	/* Lockdep has to know: a fault in the form looks at both. */
	bool off = !(input.flags & X86_EFLAGS_IF);

	memset(&seen, 0, sizeof(seen));
	memset(&output.state, 0, sizeof(output.state));
	kernel_fpu_begin_mask(KFPU_387 | KFPU_MXCSR);
	memcpy(forms_scratch, input_scratch, sizeof(input_scratch));
	memcpy(this_cpu_ptr(forms_percpu), input_percpu, sizeof(input_percpu));
	if (off)
		local_irq_disable();
	forms_run(&input, &output.state, form->stub);
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

static bool gpr_differs(const struct trial *trial, char *what)
{
	static const char * const names[] = {
		"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
		"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
	};
	const struct outcome *bare = trial->bare;
	int i;

	for (i = 0; i < 16; i++) {
		u64 was = bare->state.gpr[i], is = output.state.gpr[i];

		if (was == is || trial->form->flags & 1 << i)
			continue;
		snprintf(what, sizeof(trial->what), "%s is %llx, not %llx",
			 names[i], is, was);
		return true;
	}
	return false;
}

/* Compares the output with what the bare form did. */
static bool outcome_differs(const struct trial *trial, char *what)
{
	const struct forms_state *bare = &trial->bare->state;
	const struct forms_state *now = &output.state;
	int size = sizeof(trial->what), at;

	if (bare->where != now->where) {
		snprintf(what, size, "it led to %llu, not %llu", now->where,
			 bare->where);
		return true;
	}
	if (bare->from_sp != now->from_sp) {
		snprintf(what, size, "the test's own stack moved");
		return true;
	}
	if (gpr_differs(trial, what))
		return true;
	if (bare->flags != now->flags) {
		snprintf(what, size, "flags are %llx, not %llx", now->flags,
			 bare->flags);
		return true;
	}
	at = stack_differs(bare, now);
	if (at >= 0) {
		snprintf(what, size, "stack[%d] is %llx, not %llx",
			 at - FORMS_STACK / 16, now->stack[at], bare->stack[at]);
		return true;
	}
	at = differs(trial->bare->scratch, output.scratch, 0, FORMS_SCRATCH);
	if (at >= 0) {
		snprintf(what, size, "memory[%d] is %x, not %x",
			 at - FORMS_SCRATCH / 2, output.scratch[at],
			 trial->bare->scratch[at]);
		return true;
	}
	at = differs(trial->bare->percpu, output.percpu, 0, PERCPU);
	if (at >= 0) {
		snprintf(what, size, "CPU's memory[%d] differs", at);
		return true;
	}
	/* All but the last x87 instruction's opcode and addresses. */
	at = differs(bare->xsave, now->xsave, 0, 6);
	if (at < 0)
		at = differs(bare->xsave, now->xsave, 24, 416);
	if (at < 0)
		at = differs(bare->xsave, now->xsave, 576, FORMS_XSAVE);
	if (at >= 0) {
		snprintf(what, size, "FPU state[%d] is %x, not %x", at,
			 now->xsave[at], bare->xsave[at]);
		return true;
	}
	return false;
}

/* Did the handlers run as they should? */
static bool handlers_wrong(const struct trial *trial, enum way way, char *what)
{
	const struct form *form = trial->form;
	int size = sizeof(trial->what);
	int pre = way == PRE || way == POST;
	int post = way == POST && !(form->flags & FORM_FAULTS);
	void *next = output.state.where == FORMS_FELL ? form->next :
							form->taken;

	if (seen.pre != pre || seen.post != post) {
		snprintf(what, size, "handlers ran %d and %d times, not %d and %d",
			 seen.pre, seen.post, pre, post);
		return true;
	}
	if (trial->probe.nmissed) {
		snprintf(what, size, "%lu hits missed", trial->probe.nmissed);
		return true;
	}
	if (pre && seen.pre_ip != (unsigned long)form->site + 1) {
		snprintf(what, size, "before: ip is %lx, not %lx", seen.pre_ip,
			 (unsigned long)form->site + 1);
		return true;
	}
	if (!post)
		return false;
	if (seen.post_ip != (unsigned long)next) {
		snprintf(what, size, "after: ip is %lx, not %lx", seen.post_ip,
			 (unsigned long)next);
		return true;
	}
	if (seen.post_sp != output.state.gpr[4]) {
		snprintf(what, size, "after: sp is %lx, not %llx", seen.post_sp,
			 output.state.gpr[4]);
		return true;
	}
	if ((seen.post_flags ^ output.state.flags) & ~X86_EFLAGS_RF) {
		snprintf(what, size, "after: flags are %lx, not %llx",
			 seen.post_flags, output.state.flags);
		return true;
	}
	return false;
}

/* Runs a form from one state in one way; only its first fault is kept. */
static void run_trial(struct trial *trial, struct outcome *bare, int number,
		      enum way way)
{
	char what[sizeof(trial->what)];
	int tries;

	trial->bare = bare;
	run_once(trial->form);
	forms_run_count++;
	if (way == BARE) {
		*bare = output;
		return;
	}
	if (trial->what[0])
		return;
	/*
	 * An interrupt right before the form leaves its frame below RSP, where
	 * the form may make room and write nothing. Such a run says nothing of
	 * others; one of the next two that agree does.
	 */
	for (tries = 0; way == AGAIN && tries < 8; tries++) {
		if (!outcome_differs(trial, what))
			break;
		*bare = output;
		run_once(trial->form);
	}
	if (outcome_differs(trial, what) || handlers_wrong(trial, way, what))
		snprintf(trial->what, sizeof(trial->what), "%s, state %d: %s",
			 way_names[way], number, what);
}

/* Runs all forms of a group from all states, in one way. */
static void run_all(struct trial *trials, int count, struct outcome *bare,
		    enum way way)
{
	int i, number;

	for (number = 0; number < states; number++) {
		make_input(number);
		for (i = 0; i < count; i++)
			if (!trials[i].form->refused &&
			    (trials[i].probe.addr || way < PRE))
				run_trial(&trials[i], &bare[number * count + i],
					  number, way);
	}
}

static void not_as_expected(struct trial *trial, enum way way, int err)
{
	if (err == trial->form->refused || trial->what[0])
		return;
	trial->fault = err ? REFUSED : UNREFUSED;
	snprintf(trial->what, sizeof(trial->what),
		 "%s: registering it gave %d, not %d", way_names[way], err,
		 trial->form->refused);
}

static void make_probe(struct trial *trial, enum way way)
{
	trial->probe = (struct kprobe) {
		.addr = trial->form->site,
		.pre_handler = before,
		.post_handler = way == PRE ? NULL : after,
	};
}

/*
 * Registers the probes of a group: in one batch those that should work, and
 * if that fails, one by one, to name those that are refused.
 */
static int arm_all(struct trial *trials, int count, struct kprobe **armed,
		   enum way way)
{
	bool together;
	int i, n = 0;

	for (i = 0; i < count; i++) {
		make_probe(&trials[i], way);
		if (!trials[i].form->refused)
			armed[n++] = &trials[i].probe;
	}
	together = n && !register_kprobes(armed, n);
	if (!together)
		n = 0;
	for (i = 0; i < count; i++) {
		struct trial *trial = &trials[i];
		int err;

		if (together && !trial->form->refused)
			continue;
		/* Whoever refuses one may have written to all. */
		make_probe(trial, way);
		err = register_kprobe(&trial->probe);
		not_as_expected(trial, way, err);
		if (err)
			trial->probe.addr = NULL;
		else
			armed[n++] = &trial->probe;
	}
	return n;
}

/* One way after the other; the probes of the last one are those before it. */
static void run_ways(struct trial *trials, int count, struct outcome *bare,
		     struct kprobe **armed)
{
	int n, i;

	run_all(trials, count, bare, BARE);
	run_all(trials, count, bare, AGAIN);
	n = arm_all(trials, count, armed, PRE);
	run_all(trials, count, bare, PRE);
	unregister_kprobes(armed, n);
	n = arm_all(trials, count, armed, POST);
	run_all(trials, count, bare, POST);
	for (i = 0; i < n; i++)
		disable_kprobe(armed[i]);
	run_all(trials, count, bare, DISABLED);
	unregister_kprobes(armed, n);
}

static void run_group(struct kunit *test, struct trial *trials, int count)
{
	struct kprobe **armed;
	struct outcome *bare;

	armed = kunit_kcalloc(test, count, sizeof(*armed), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, armed);
	bare = kvcalloc(array_size(count, states), sizeof(*bare), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, bare);
	/* The same CPU's data and CPUID each time. */
	migrate_disable();
	run_ways(trials, count, bare, armed);
	migrate_enable();
	kvfree(bare);
}

static bool left_out(const struct form *form)
{
	bool kills = form->flags & FORM_KILLS_C;

	if (form->feature && !boot_cpu_has(form->feature))
		return true;
	return killers ? !kills : spare_c && kills;
}

static void runs_as_bare(struct kunit *test)
{
	const struct forms_group *group = test->param_value;
	struct trial *trials;
	int count = 0, wrong = 0, n;
	u64 i;

	if (only && strcmp(only, group->name))
		kunit_skip(test, "not asked for");
	if (!boot_cpu_has(X86_FEATURE_AVX))
		kunit_skip(test, "no AVX");
	trials = kunit_kcalloc(test, group->count, sizeof(*trials), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, trials);
	for (i = 0; i < group->count; i++) {
		const struct form *form = &group->forms[i];

		if (!left_out(form)) {
			trials[count++].form = form;
			forms_to_refuse += !!form->refused;
			continue;
		}
		pr_info("forms: left out: %s: %s\n", group->name, form->name);
		forms_left_out++;
	}
	if (!count)
		kunit_skip(test, "all are left out");
	run_group(test, trials, count);
	for (n = 0; n < count; n++) {
		if (!trials[n].what[0])
			continue;
		if (++wrong == 1)
			KUNIT_FAIL(test, "not all forms are as they should be");
		pr_info("forms: %s: %s: %s: %s\n",
			fault_names[trials[n].fault], group->name,
			trials[n].form->name, trials[n].what);
		if (wrong <= 4)
			kunit_info(test, "%s: %s", trials[n].form->name,
				   trials[n].what);
	}
	if (wrong)
		kunit_info(test, "%d of %d forms", wrong, count);
}

static const void *next_group(struct kunit *test, const void *prev, char *desc)
{
	const struct forms_group *group = prev;

	group = group ? group + 1 : forms_groups;
	if (group == forms_groups + forms_group_count)
		return NULL;
	strscpy(desc, group->name, KUNIT_PARAM_DESC_SIZE);
	return group;
}

static void forms_exit(struct kunit_suite *suite)
{
	u64 i, forms = 0;

	for (i = 0; i < forms_group_count; i++)
		forms += forms_groups[i].count;
	pr_info("forms: sum: %llu forms, %d of them left out, %d to be refused, %d states, %d runs\n",
		forms, forms_left_out, forms_to_refuse, states,
		forms_run_count);
}

static struct kunit_case forms_cases[] = {
	KUNIT_CASE_PARAM(runs_as_bare, next_group),
	{}
};

static struct kunit_suite forms_suite = {
	.name = "forms",
	.suite_exit = forms_exit,
	.test_cases = forms_cases,
};

kunit_test_suite(forms_suite);

MODULE_DESCRIPTION("Instructions with and without a probe, compared");
MODULE_LICENSE("GPL");
