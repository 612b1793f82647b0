/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Running a form from one of many states, and comparing what it did.
 */
#ifndef KPROBES_FORMS_TRIAL_H
#define KPROBES_FORMS_TRIAL_H

#include <kunit/test.h>
#include <linux/kprobes.h>
#include "forms.h"

/* What can be wrong with a form; the worst comes first. */
enum fault { WRONG, UNREFUSED, REFUSED };

/* A form, with its probe. */
struct trial {
	const struct form *form;
	struct kprobe probe;
	struct outcome *bare;
	enum fault fault;
	char what[120];
};

/* What is wrong, in the room that a trial has for it; true. */
#define tell(what, ...)							\
	(snprintf(what, sizeof_field(struct trial, what), __VA_ARGS__), true)

extern int states;
extern bool spare_c, killers;
extern char *only;

/* What the next run begins with, and what the last one ended with. */
extern struct forms_state input;
extern struct outcome output;
extern int forms_run_count;

struct rnd_state;

/* Some number, often one at the edge of a width. */
u64 some_number(struct rnd_state *rnd);

/* State @number of all that there are becomes the input. */
void make_input(int number);

/* To be called before runs that are to be compared, by who calls them. */
void place_window(void);

/* Runs what begins at @stub from the input. */
void run_once(void (*stub)(void));

/* Compares the output with the bare form's; says what differs. */
bool outcome_differs(const struct trial *trial, char *what);

/* The first byte from @from on, before @to, that differs; or -1. */
int differs(const void *one, const void *other, int from, int to);

/* Not for this CPU, or not with C. */
bool left_out(const struct form *form);

/*
 * Jumps in the place of breakpoints: none from open_switch() on, unless they
 * are allowed, up to close_switch(). For a suite's init and exit; cases see no
 * files.
 */
int open_switch(struct kunit_suite *suite);
bool allow_jumps(bool yes);
void close_switch(void);

/*
 * The architecture's own, in its state.c.
 */
extern const char * const register_names[16];

/* Makes all of the input but general registers and memory. */
void make_state(struct rnd_state *rnd, int number);

/* Calls forms_run(), with the CPU's state kept for the kernel. */
void enter(void (*stub)(void));

/* Runs a form from the input, with what the form itself needs in there. */
void run_form(const struct form *form);

/* Finds out the state of all registers right before the form. */
void find_state_at(const struct form *form, struct forms_state *there);

/* Compares what is no general register, flag or memory of operands. */
bool rest_differs(const struct trial *trial, char *what);

/* Compares what a handler is shown with what was to be seen there. */
bool registers_differ(const struct pt_regs *shown,
		      const struct forms_state *expected, char *what);

/* Was the handler after it shown what there was then? The address is right. */
bool post_wrong(const struct form *form, const struct pt_regs *shown,
		char *what);

/* How often a probe is hit in that position, in this state. */
int hits(const struct form *form, int position,
	 const struct forms_state *there);

/* Has this CPU no such instruction? */
bool cpu_lacks(const struct form *form);

/* Has the bare form faulted? */
bool has_faulted(const struct trial *trial);

/* Fails the test if any of a group's is wrong; says which are, and @where. */
void report(struct kunit *test, const struct forms_group *group,
	    struct trial *trials, int count, const char *where);

/* For KUNIT_CASE_PARAM(). */
const void *next_group(struct kunit *test, const void *prev, char *desc);

#endif
