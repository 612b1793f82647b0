// SPDX-License-Identifier: GPL-2.0
/*
 * Does an instruction do the same under a jump as without?
 *
 * Each form has a probe with no handler after it: first where the form begins,
 * then one instruction before that, then two before it. So the form is the
 * first instruction that a jump is over, the second, which may be the last or
 * one in the middle, and the last. The probes of many forms are registered
 * together; when the jumps are there each form that is under one is run from
 * several states, twice from some of them:
 *
 *	look	the handler must be shown all registers as they are there
 *	change	the handler puts those of another state there, and the form must
 *		do what it does from that state; where it goes on cannot be
 *		changed
 *
 * and must leave all that it leaves bare.
 *
 * What the list in debugfs says of a place must be what is in the text. Where
 * it is no jump, the Rust implementation must have told why. Some forms must
 * never be under one, whatever anybody says: what is expected to fault, and
 * what cannot be probed itself.
 */
#include <linux/cpufeature.h>
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/text-patching.h>
#include "jumps.h"

static int positions = FORMS_POSITIONS;
module_param(positions, int, 0444);
MODULE_PARM_DESC(positions, "in how many positions each form is tried");

/* How many of a hundred forms must be under a jump, in each position. */
#define FLOOR		(IS_ENABLED(CONFIG_RUST_KPROBES) ? 92 : 70)

/* How much of bare forms' outcomes is kept at a time. */
#define KEPT		(48 << 20)

/* How many probes are registered at a time. */
#define BATCH		1024

static const char * const position_names[] = { "first", "second", "third" };

struct trial *all;
static int all_count;

int position;

/* From how many states each form is run; three positions share the time. */
static int jump_states;

/* Those that are under a jump which may be there. */
static bool *to_run;

/* What became of the forms in a position. */
static struct {
	int probed;
	int jumps;
	int wrong;
} sums[FORMS_POSITIONS];

static int changed_count, runs_before;

/* What the handler saw, and what it is to put there. */
static struct {
	int hits;
	struct pt_regs regs;
	const struct forms_state *change;
} seen;

static void put(struct pt_regs *regs, const struct forms_state *state)
{
	regs->ax = state->gpr[0];
	regs->cx = state->gpr[1];
	regs->dx = state->gpr[2];
	regs->bx = state->gpr[3];
	regs->bp = state->gpr[5];
	regs->si = state->gpr[6];
	regs->di = state->gpr[7];
	regs->r8 = state->gpr[8];
	regs->r9 = state->gpr[9];
	regs->r10 = state->gpr[10];
	regs->r11 = state->gpr[11];
	regs->r12 = state->gpr[12];
	regs->r13 = state->gpr[13];
	regs->r14 = state->gpr[14];
	regs->r15 = state->gpr[15];
	regs->flags = state->flags;
}

static int before(struct kprobe *p, struct pt_regs *regs)
{
	/* C leaves that to the probed code, as clauses/ shows (O6). */
	if (IS_ENABLED(CONFIG_KPROBES_C))
		asm volatile("cld" : : : "cc");
	if (seen.hits++)
		return 0;
	seen.regs = *regs;
	if (!seen.change)
		return 0;
	put(regs, seen.change);
	/* Neither says where to go on. */
	regs->ip = 16;
	return 1;
}

void is_wrong(struct trial *trial, const char *format, ...)
{
	va_list arguments;
	char text[sizeof(trial->what)];

	if (trial->what[0])
		return;
	sums[position].wrong++;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	snprintf(trial->what, sizeof(trial->what), "as the %s: %s",
		 position_names[position], text);
}

static bool is_jump(const struct trial *trial)
{
	return *(u8 *)site(trial) == JMP32_INSN_OPCODE;
}

/* Those that a jump must not be over, but for what may move; none is run. */
static bool must_stay(const struct form *form)
{
	return form->flags & FORM_FIXUP || form->refused;
}

/* With a probe into the middle of it, or on what cannot be probed. */
static bool has_place(const struct form *form)
{
	return !(form->flags & FORM_INSIDE) &&
	       !(form->refused && position == FORMS_FIRST);
}

/* Registers some, from all[from] on; where it ended. */
static int register_batch(struct part *part, int from)
{
	struct kprobe **batch = part->armed + part->armed_count;
	int end = part->from + part->count, count = 0, n, err;

	for (n = from; n < end && count < BATCH; n++) {
		struct trial *trial = &all[n];

		said[n] = NOTHING;
		trial->probe = (struct kprobe) {};
		if (!has_place(trial->form))
			continue;
		trial->probe.addr = site(trial);
		trial->probe.pre_handler = before;
		batch[count++] = &trial->probe;
	}
	err = count ? register_kprobes(batch, count) : 0;
	if (!err) {
		part->armed_count += count;
		return n;
	}
	/* One by one, to name those that are refused. */
	for (n = from; count; n++) {
		struct trial *trial = &all[n];

		if (!has_place(trial->form))
			continue;
		count--;
		trial->probe = (struct kprobe) { .addr = site(trial), .pre_handler = before };
		err = register_kprobe(&trial->probe);
		if (!err) {
			part->armed[part->armed_count++] = &trial->probe;
			continue;
		}
		trial->probe.addr = NULL;
		/* The other pass says so of a form itself. */
		if (trial->form->refused || position == FORMS_FIRST)
			continue;
		trial->fault = REFUSED;
		is_wrong(trial, "registering a probe before it gave %d", err);
	}
	return n;
}

static void register_part(struct part *part)
{
	int from = part->from;

	part->armed_count = 0;
	while (from < part->from + part->count) {
		from = register_batch(part, from);
		/* With C it takes minutes, in which nothing else is said. */
		pr_info("forms: %d probes\n", part->armed_count);
	}
}

/* Are all there that the list has promised? */
static bool jumps_are_there(const struct part *part)
{
	unsigned long end = jiffies + 60 * HZ;
	int n = part->from;

	while (n < part->from + part->count) {
		if (said[n] != OPTIMIZED || is_jump(&all[n])) {
			n++;
			continue;
		}
		if (time_after(jiffies, end))
			return false;
		msleep(20);
	}
	return true;
}

/* Is there a jump where there may be one, and nowhere else? */
static bool stands_right(struct trial *trial)
{
	enum said its = said[trial - all];
	bool jump = is_jump(trial);

	sums[position].probed++;
	sums[position].jumps += jump;
	if (its == OPTIMIZED ? !jump : jump) {
		is_wrong(trial, "it is %sa jump, and the list says otherwise",
			 jump ? "" : "not ");
		return false;
	}
	if (jump && must_stay(trial->form)) {
		if (!(trial->form->flags & FORM_MOVES)) {
			trial->fault = UNREFUSED;
			is_wrong(trial, "it is under a jump");
		}
		return false;
	}
	if (IS_ENABLED(CONFIG_RUST_KPROBES) && its == NOTHING) {
		is_wrong(trial, "it is not a jump, and nobody says why");
		return false;
	}
	return jump;
}

static void run(void (*stub)(void), const struct forms_state *change)
{
	memset(&seen, 0, sizeof(seen));
	seen.change = change;
	run_once(stub);
}

static bool handler_wrong(const struct trial *trial,
			  const struct forms_state *there, int times,
			  char *what)
{
	unsigned long ip = (unsigned long)site(trial) + 1;

	if (seen.hits != times || trial->probe.nmissed)
		return tell(what,
			    "the handler ran %d times, not %d, and %lu hits were missed",
			    seen.hits, times, trial->probe.nmissed);
	if (seen.regs.ip != ip || seen.regs.cs != __KERNEL_CS)
		return tell(what,
			    "the handler is shown ip %lx, not %lx, or cs %x",
			    seen.regs.ip, ip, (u16)seen.regs.cs);
	return registers_differ(&seen.regs, there, what);
}

static void look(struct trial *trial, int number)
{
	static struct forms_state there;
	char what[sizeof(trial->what)];

	run(form_up_to(trial->form, position), NULL);
	there = output.state;
	run(form_stub(trial->form), NULL);
	if (outcome_differs(trial, what) ||
	    handler_wrong(trial, &there,
			  hits(trial->form, position, &there), what))
		is_wrong(trial, "state %d: %s", number, what);
}

/* All but the registers that handlers can change. */
static bool rest_is_same(const struct outcome *one, const struct outcome *other)
{
	return one->state.gpr[4] == other->state.gpr[4] &&
	       !memcmp(one->state.stack + FORMS_STACK / 16,
		       other->state.stack + FORMS_STACK / 16,
		       FORMS_STACK / 2) &&
	       !memcmp(one->state.xsave, other->state.xsave, 6) &&
	       !memcmp(one->state.xsave + 24, other->state.xsave + 24,
		       FORMS_XSAVE - 24) &&
	       !memcmp(one->scratch, other->scratch, FORMS_SCRATCH) &&
	       !memcmp(one->percpu, other->percpu, FORMS_PERCPU);
}

/*
 * It begins with the registers of another state, and the handler puts those
 * there that it would have had. Not where what is before the probe stores a
 * register.
 */
static void change(struct trial *trial, int number)
{
	static struct forms_state own, others;
	static struct outcome there;
	char what[sizeof(trial->what)];
	int other = (number + 1) % jump_states;

	make_input(other);
	others = input;
	make_input(number);
	run(form_up_to(trial->form, position), NULL);
	there = output;
	own = input;
	memcpy(input.gpr, others.gpr, sizeof(input.gpr));
	/* Lockdep knows of IF what the run began with. */
	input.flags = (others.flags & ~X86_EFLAGS_IF) |
		      (own.flags & X86_EFLAGS_IF);
	run(form_up_to(trial->form, position), NULL);
	if (rest_is_same(&output, &there)) {
		others = output.state;
		run(form_stub(trial->form), &there.state);
		changed_count++;
		if (outcome_differs(trial, what) ||
		    handler_wrong(trial, &others,
				  hits(trial->form, position, &there.state),
				  what))
			is_wrong(trial, "state %d, changed from %d: %s", number,
				 other, what);
	}
	input = own;
}

static void run_jumps(const struct part *part)
{
	int n, number;

	for (n = part->from; n < part->from + part->count; n++)
		to_run[n] = all[n].probe.addr && stands_right(&all[n]);
	for (number = 0; number < jump_states; number++) {
		make_input(number);
		for (n = part->from; n < part->from + part->count; n++) {
			struct trial *trial = &all[n];

			trial->bare = &part->bare[number * part->count +
						  n - part->from];
			cond_resched_tasks_rcu_qs();
			if (!to_run[n] || trial->what[0])
				continue;
			look(trial, number);
			if (number == position % jump_states)
				change(trial, number);
		}
	}
}

static void run_bare(const struct part *part)
{
	int n, number, tries;

	for (number = 0; number < jump_states; number++) {
		make_input(number);
		for (n = 0; n < part->count; n++) {
			struct trial *trial = &all[part->from + n];
			char what[sizeof(trial->what)];

			cond_resched_tasks_rcu_qs();
			if (must_stay(trial->form))
				continue;
			trial->bare = &part->bare[number * part->count + n];
			run_once(form_stub(trial->form));
			/* Two that agree count: see main.c. */
			for (tries = 0; tries < 8; tries++) {
				*trial->bare = output;
				run_once(form_stub(trial->form));
				if (!outcome_differs(trial, what))
					break;
			}
		}
	}
}

static void run_part(struct kunit *test, struct part *part)
{
	run_bare(part);
	for (position = 0; position < positions; position++) {
		register_part(part);
		KUNIT_EXPECT_TRUE(test, allow_jumps(true));
		KUNIT_EXPECT_TRUE(test, hear(part));
		KUNIT_EXPECT_TRUE(test, jumps_are_there(part));
		run_jumps(part);
		KUNIT_EXPECT_TRUE(test, allow_jumps(false));
		unregister_kprobes(part->armed, part->armed_count);
	}
}

/* All of it is done here; the cases after it tell what was found. */
static void run_under_jumps(struct kunit *test)
{
	int kept = min_t(int, KEPT / (sizeof(struct outcome) * jump_states),
			 all_count);
	struct part part = {};

	if (!boot_cpu_has(X86_FEATURE_AVX))
		kunit_skip(test, "no AVX");
	if (!all_count)
		kunit_skip(test, "none of these was to be run");
	part.bare = kvcalloc(array_size(kept, jump_states), sizeof(*part.bare),
			     GFP_KERNEL);
	part.armed = kvcalloc(kept, sizeof(*part.armed), GFP_KERNEL);
	if (part.bare && part.armed) {
		migrate_disable();
		place_window();
		for (; part.from < all_count; part.from += part.count) {
			part.count = min(kept, all_count - part.from);
			run_part(test, &part);
		}
		migrate_enable();
	} else {
		KUNIT_FAIL(test, "no memory");
	}
	kvfree(part.armed);
	kvfree(part.bare);
	KUNIT_EXPECT_GT(test, changed_count, 0);
}

static const void *next_position(struct kunit *test, const void *prev,
				 char *desc)
{
	const char *const *name = prev;

	name = name ? name + 1 : position_names;
	if (name == position_names + FORMS_POSITIONS)
		return NULL;
	strscpy(desc, *name, KUNIT_PARAM_DESC_SIZE);
	return name;
}

static void enough_are_jumps(struct kunit *test)
{
	int at = (const char *const *)test->param_value - position_names;

	if (only || !all_count)
		kunit_skip(test, "one group says nothing of all");
	if (at >= positions)
		kunit_skip(test, "not asked for");
	KUNIT_ASSERT_GT(test, sums[at].probed, 0);
	KUNIT_EXPECT_GE(test, sums[at].jumps * 100, sums[at].probed * FLOOR);
}

static void runs_as_bare(struct kunit *test)
{
	const struct forms_group *group = test->param_value;
	int from = 0, count;

	while (from < all_count && all[from].form < group->forms)
		from++;
	for (count = 0; from + count < all_count; count++)
		if (all[from + count].form >= group->forms + group->count)
			break;
	if (!count)
		kunit_skip(test, "none of these was to be run");
	KUNIT_ASSERT_NE(test, forms_run_count, runs_before);
	report(test, group, all + from, count, " under a jump");
}

static int jumps_init(struct kunit_suite *suite)
{
	const struct forms_group *group;
	u64 n, count = 0;

	if (killers || !IS_ENABLED(CONFIG_OPTPROBES))
		return 0;
	positions = clamp(positions, 1, FORMS_POSITIONS);
	jump_states = max(states / 2, 1);
	runs_before = forms_run_count;
	for (n = 0; n < forms_group_count; n++)
		count += forms_groups[n].count;
	all = kvcalloc(count, sizeof(*all), GFP_KERNEL);
	said = kvcalloc(count, sizeof(*said), GFP_KERNEL);
	to_run = kvcalloc(count, sizeof(*to_run), GFP_KERNEL);
	if (!all || !said || !to_run)
		return -ENOMEM;
	for (group = forms_groups; group < forms_groups + forms_group_count;
	     group++)
		for (n = 0; n < group->count; n++)
			if (!left_out(&group->forms[n]) &&
			    !(only && strcmp(only, group->name)))
				all[all_count++].form = &group->forms[n];
	return find_files() ?: open_switch(suite);
}

static void jumps_exit(struct kunit_suite *suite)
{
	int at;

	for (at = 0; at < positions; at++)
		pr_info("forms: jumps: as the %s: %d of %d under a jump, %d wrong\n",
			position_names[at], sums[at].jumps, sums[at].probed,
			sums[at].wrong);
	show_reasons();
	pr_info("forms: jumps: %d runs, of which %d with changed registers\n",
		forms_run_count - runs_before, changed_count);
	lose_files();
	close_switch();
	kvfree(to_run);
	kvfree(said);
	kvfree(all);
}

static struct kunit_case jumps_cases[] = {
	KUNIT_CASE(run_under_jumps),
	KUNIT_CASE_PARAM(enough_are_jumps, next_position),
	KUNIT_CASE_PARAM(runs_as_bare, next_group),
	{}
};

static struct kunit_suite jumps_suite = {
	.name = "forms_jumps",
	.suite_init = jumps_init,
	.suite_exit = jumps_exit,
	.test_cases = jumps_cases,
};

kunit_test_suite(jumps_suite);
