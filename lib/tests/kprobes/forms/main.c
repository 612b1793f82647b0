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
 *	nested		with that one, in a handler of another probe: on arm
 *	disabled	with that one disabled
 *	jump		with one that has no handler after it, and has become a
 *			jump if it can
 *
 * and whatever is different after it is an error, as are handlers that ran too
 * often, not at all, or saw another place or other registers than there were.
 * One KUnit case for each group. x86's jumps.c has the jumps of x86, which are
 * over several instructions.
 *
 * The method is that of arch/arm/probes/kprobes/test-core.c.
 */
#include <linux/iopoll.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/string.h>
#include "trial.h"

enum way { BARE, AGAIN, PRE, POST, NESTED, DISABLED, JUMP };

static const char * const way_names[] = {
	"bare", "bare again", "pre", "post", "nested", "disabled", "jump",
};

/* What the handlers saw. */
static struct {
	int pre;
	int post;
	struct pt_regs regs;
	struct pt_regs post_regs;
} seen;

static int forms_left_out, forms_to_refuse, forms_jumps;

static int before(struct kprobe *p, struct pt_regs *regs)
{
	if (!seen.pre++)
		seen.regs = *regs;
	return 0;
}

static void after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	seen.post++;
	seen.post_regs = *regs;
}

/* The state of all registers right before the form. */
static struct forms_state there;

static bool is_armed(const struct trial *trial, enum way way)
{
	return way >= PRE && !(trial->probe.flags & KPROBE_FLAG_DISABLED);
}

bool __weak post_wrong(const struct form *form, const struct pt_regs *shown,
		       char *what)
{
	return registers_differ(shown, &output.state, what);
}

/* Did the handlers run as they should? */
static bool handlers_wrong(const struct trial *trial, enum way way, char *what)
{
	const struct form *form = trial->form;
	unsigned long ip = (unsigned long)form_site(form, FORMS_FIRST) + FORMS_TRAP;
	int times = is_armed(trial, way) ? hits(form, FORMS_FIRST, &there) : 0;
	int pre = way == NESTED ? 0 : times;
	int post = trial->probe.post_handler && !has_faulted(trial) ? pre : 0;

	if (seen.pre != pre || seen.post != post)
		return tell(what,
			    "handlers ran %d and %d times, not %d and %d",
			    seen.pre, seen.post, pre, post);
	if (trial->probe.nmissed != times - pre)
		return tell(what, "%lu hits missed", trial->probe.nmissed);
	if (!pre)
		return false;
	if (instruction_pointer(&seen.regs) != ip)
		return tell(what, "before: ip is %lx, not %lx",
			    instruction_pointer(&seen.regs), ip);
	if (registers_differ(&seen.regs, &there, what))
		return true;
	/* Or something else has run since. */
	if (!post || form->flags & FORM_FOLLOWED)
		return false;
	ip = (unsigned long)(output.state.where == FORMS_FELL ? form_next(form) : form_taken(form));
	if (instruction_pointer(&seen.post_regs) != ip)
		return tell(what, "after: ip is %lx, not %lx",
			    instruction_pointer(&seen.post_regs), ip);
	return post_wrong(form, &seen.post_regs, what);
}

static void run(const struct form *form)
{
	memset(&seen, 0, sizeof(seen));
	run_form(form);
}

static const struct form *inner;
static noinline void call_outer(void)
{
	barrier();
}

static int run_inner(struct kprobe *p, struct pt_regs *regs)
{
	run(inner);
	return 0;
}

/* Runs a form from one state in one way; only its first fault is kept. */
static void run_trial(struct trial *trial, struct outcome *bare, int number,
		      enum way way)
{
	char what[sizeof(trial->what)];
	int tries;

	trial->bare = bare;
	if (is_armed(trial, way))
		find_state_at(trial->form, &there);
	trial->probe.nmissed = 0;
	inner = trial->form;
	if (way == NESTED)
		call_outer();
	else
		run(inner);
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
		run(trial->form);
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
			    (trials[i].probe.addr || way < PRE) &&
			    (way != NESTED || FORMS_NESTED(trials[i].form)))
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
		.addr = form_site(trial->form, FORMS_FIRST),
		.pre_handler = before,
		.post_handler = way == PRE || way == JUMP ? NULL : after,
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

/* Not one of want of memory, or of time. */
static bool is_reason_of_insn(enum kprobe_no_jump_reason reason)
{
	return reason == KPROBE_NO_JUMP_EMULATED ||
	       reason == KPROBE_NO_JUMP_SHORT_INSN ||
	       reason == KPROBE_NO_JUMP_MAY_FAULT ||
	       reason == KPROBE_NO_JUMP_NEAR_END;
}

/*
 * Are those jumps that will be? Says how many are; @traps is what was there before.
 * One that could be a jump and is none fails the test.
 */
static bool jumps_are_there(struct kunit *test, struct kprobe **armed,
			    const u32 *traps, int n, int *jumps)
{
	struct kprobe_no_jump why;
	int i, no_jump;

	for (*jumps = i = 0; i < n; i++) {
		no_jump = kprobe_why_no_jump(armed[i], &why);
		if (no_jump) {
			KUNIT_EXPECT_EQ(test, no_jump, 1);
			KUNIT_EXPECT_TRUE_MSG(test, is_reason_of_insn(why.reason),
					      "%s", why.text);
			continue;
		}
		if (!memcmp(armed[i]->addr, &traps[i], sizeof(*traps)))
			return false;
		++*jumps;
	}
	return true;
}

static void make_jumps(struct kunit *test, struct kprobe **armed, u32 *traps,
		       int n)
{
	int i, jumps, err;
	bool done;

	for (i = 0; i < n; i++)
		memcpy(&traps[i], armed[i]->addr, sizeof(*traps));
	KUNIT_EXPECT_TRUE(test, allow_jumps(true));
	err = read_poll_timeout(jumps_are_there, done, done, 10 * USEC_PER_MSEC,
				60 * USEC_PER_SEC, false, test, armed, traps, n,
				&jumps);
	KUNIT_EXPECT_EQ(test, err, 0);
	forms_jumps += jumps;
}

/* One way after the other; the probes of "disabled" are those of "post". */
static void run_ways(struct kunit *test, struct trial *trials, int count,
		     struct outcome *bare, struct kprobe **armed, u32 *traps)
{
	struct kprobe outer = { .addr = (kprobe_opcode_t *)call_outer, .pre_handler = run_inner };
	int n, i;

	run_all(trials, count, bare, BARE);
	run_all(trials, count, bare, AGAIN);
	n = arm_all(trials, count, armed, PRE);
	run_all(trials, count, bare, PRE);
	unregister_kprobes(armed, n);
	n = arm_all(trials, count, armed, POST);
	run_all(trials, count, bare, POST);
	KUNIT_EXPECT_EQ(test, register_kprobe(&outer), 0);
	run_all(trials, count, bare, NESTED);
	unregister_kprobe(&outer);
	for (i = 0; i < n; i += FORMS_DISABLED_EACH)
		disable_kprobe(armed[i]);
	run_all(trials, count, bare, DISABLED);
	unregister_kprobes(armed, n);
	if (!FORMS_JUMPS)
		return;
	n = arm_all(trials, count, armed, JUMP);
	make_jumps(test, armed, traps, n);
	run_all(trials, count, bare, JUMP);
	KUNIT_EXPECT_TRUE(test, allow_jumps(false));
	unregister_kprobes(armed, n);
}

static void run_group(struct kunit *test, struct trial *trials, int count)
{
	struct kprobe **armed;
	struct outcome *bare;
	u32 *traps;

	armed = kunit_kcalloc(test, count, sizeof(*armed), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, armed);
	traps = kunit_kcalloc(test, count, sizeof(*traps), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, traps);
	bare = kvcalloc(array_size(count, states), sizeof(*bare), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, bare);
	/* The same CPU's data and identity each time. */
	migrate_disable();
	place_window();
	run_ways(test, trials, count, bare, armed, traps);
	migrate_enable();
	kvfree(bare);
}

static void runs_as_bare(struct kunit *test)
{
	const struct forms_group *group = test->param_value;
	struct trial *trials;
	int count = 0;
	u64 i;

	if (only && strcmp(only, group->name))
		kunit_skip(test, "not asked for");
	trials = kunit_kcalloc(test, group->count, sizeof(*trials), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, trials);
	for (i = 0; i < group->count; i++) {
		const struct form *form = &group->forms[i];

		if (!left_out(form)) {
			trials[count++].form = form;
			forms_to_refuse += !!form->refused;
			continue;
		}
		pr_info("forms: left out: %s: %s\n", group->name,
			form_name(form));
		forms_left_out++;
	}
	if (!count)
		kunit_skip(test, "all are left out");
	run_group(test, trials, count);
	report(test, group, trials, count, "");
}

static void __maybe_unused enough_are_jumps(struct kunit *test)
{
	if (only)
		kunit_skip(test, "one group says nothing of all");
	pr_info("forms: jumps: %d of the forms\n", forms_jumps);
	KUNIT_EXPECT_GE(test, forms_jumps, FORMS_JUMPS_LEAST);
}

static void forms_exit(struct kunit_suite *suite)
{
	u64 i, forms = 0;

	close_switch();
	for (i = 0; i < forms_group_count; i++)
		forms += forms_groups[i].count;
	pr_info("forms: sum: %llu forms, %d of them left out, %d to be refused, %d states, %d runs\n",
		forms, forms_left_out, forms_to_refuse, states,
		forms_run_count);
}

static struct kunit_case forms_cases[] = {
	KUNIT_CASE_PARAM(runs_as_bare, next_group),
#if FORMS_JUMPS
	KUNIT_CASE(enough_are_jumps),
#endif
	{}
};

static struct kunit_suite forms_suite = {
	.name = "forms",
	.suite_init = open_switch,
	.suite_exit = forms_exit,
	.test_cases = forms_cases,
};

kunit_test_suite(forms_suite);

MODULE_DESCRIPTION("Instructions with and without a probe, compared");
MODULE_LICENSE("GPL");
