/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Forms under jumps: jumps.c runs them, said.c has what debugfs says of them.
 */
#ifndef KPROBES_FORMS_JUMPS_H
#define KPROBES_FORMS_JUMPS_H

#include "trial.h"

/* All forms, in the order of where they are. */
extern struct trial *all;

/* The position in which each is being tried. */
extern int position;

/* The forms that are tried together: all[from] and those behind it. */
struct part {
	int from;
	int count;
	struct outcome *bare;
	struct kprobe **armed;
	int armed_count;
};

/* What a place is said to be; the same number of these as of forms. */
enum said { NOTHING, OPTIMIZED, NOT_OPTIMIZED };

extern u8 *said;

static inline void *site(const struct trial *trial)
{
	return form_site(trial->form, position);
}

/* Keeps what is wrong with a form, if nothing was before. */
__printf(2, 3) void is_wrong(struct trial *trial, const char *format, ...);

/* To be called where files can be seen, which is not so in cases. */
int find_files(void);
void lose_files(void);

/* Reads what is said of all places of @part. */
bool hear(const struct part *part);

/* How many stay breakpoints in each position, and why. */
void show_reasons(void);

#endif
