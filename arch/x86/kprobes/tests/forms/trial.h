/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Running a form from one of many states, and comparing what it did.
 */
#ifndef KPROBES_FORMS_TRIAL_H
#define KPROBES_FORMS_TRIAL_H

#include <kunit/test.h>
#include <linux/kprobes.h>
#include "forms.h"

#define PERCPU		64

/* What is compared. */
struct outcome {
	struct forms_state state;
	u8 scratch[FORMS_SCRATCH];
	u8 percpu[PERCPU];
};

/* What can be wrong with a form; the worst comes first. */
enum fault { WRONG, UNREFUSED, REFUSED };

extern const char * const fault_names[];

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

/* State @number of all that there are becomes the input. */
void make_input(int number);

/* To be called before runs that are to be compared, by who calls them. */
void place_window(void);

/* Runs what begins at @stub from the input. */
void run_once(void (*stub)(void));

/* Compares the output with the bare form's; says what differs. */
bool outcome_differs(const struct trial *trial, char *what);

/* Compares what a handler is shown with what was to be seen there. */
bool registers_differ(const struct pt_regs *shown,
		      const struct forms_state *expected, char *what);

/* How often a probe is hit in that position, in this state. */
int hits(const struct form *form, int position,
	 const struct forms_state *there);

/*
 * Jumps in the place of breakpoints: none from open_switch() on, unless they
 * are allowed, up to close_switch(). For a suite's init and exit; cases see no
 * files.
 */
int open_switch(void);
bool allow_jumps(bool yes);
void close_switch(void);

/* Not for this CPU, or not with C. */
bool left_out(const struct form *form);

/* Fails the test if any of a group's is wrong; says which are, and @where. */
void report(struct kunit *test, const struct forms_group *group,
	    struct trial *trials, int count, const char *where);

/* For KUNIT_CASE_PARAM(). */
const void *next_group(struct kunit *test, const void *prev, char *desc);

#endif
