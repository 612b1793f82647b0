// SPDX-License-Identifier: GPL-2.0
/*
 * Running a form from one of many states, and comparing what it did.
 */
#include <linux/fs.h>
#include <linux/moduleparam.h>
#include <linux/prandom.h>
#include <linux/string.h>
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

static const char * const fault_names[] = {
	"wrong", "probed though it breaks", "refused though it works",
};

struct forms_state input;
static u8 input_scratch[FORMS_SCRATCH];
struct outcome output;
int forms_run_count;

/* Numbers at the edges of their widths are more telling than most others. */
u64 some_number(struct rnd_state *rnd)
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

void make_input(int number)
{
	struct rnd_state rnd;
	int i;

	prandom_seed_state(&rnd, 0x6b70726f62 + number);
	for (i = 0; i < 16; i++)
		input.gpr[i] = some_number(&rnd);
	make_state(&rnd, number);
	prandom_bytes_state(&rnd, input_scratch, sizeof(input_scratch));
}

void place_window(void)
{
	unsigned long here = (unsigned long)__builtin_frame_address(0);

	forms_window = round_down(here - 3 * FORMS_DISTANCE, 64);
}

noinline void run_once(void (*stub)(void))
{
	WARN_ON_ONCE(forms_window + FORMS_STACK + FORMS_DISTANCE >
		     (unsigned long)__builtin_frame_address(0));
	forms_run_count++;
	memset(&output.state, 0, sizeof(output.state));
	memcpy(forms_scratch, input_scratch, sizeof(input_scratch));
	enter(stub);
	memcpy(output.scratch, forms_scratch, sizeof(output.scratch));
}

int differs(const void *one, const void *other, int from, int to)
{
	const u8 *a = one, *b = other;

	if (!memcmp(a + from, b + from, to - from))
		return -1;
	for (; from < to; from++)
		if (a[from] != b[from])
			return from;
	return -1;
}

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
	if (gpr_differs(trial, what))
		return true;
	if (bare->flags != now->flags)
		return tell(what, "flags are %llx, not %llx", now->flags,
			    bare->flags);
	if (rest_differs(trial, what))
		return true;
	at = differs(trial->bare->scratch, output.scratch, 0, FORMS_SCRATCH);
	if (at >= 0)
		return tell(what, "memory[%d] is %x, not %x",
			    at - FORMS_SCRATCH / 2, output.scratch[at],
			    trial->bare->scratch[at]);
	return false;
}

static struct file *the_switch;

bool allow_jumps(bool yes)
{
	loff_t offset = 0;

	return kernel_write(the_switch, yes ? "1\n" : "0\n", 2, &offset) == 2;
}

int open_switch(struct kunit_suite *suite)
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

	if (cpu_lacks(form))
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
