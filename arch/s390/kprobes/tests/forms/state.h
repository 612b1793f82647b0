/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of an s390 CPU that forms begin and end with, and what there is to
 * know of a form.
 */
#ifndef KPROBES_FORMS_STATE_H
#define KPROBES_FORMS_STATE_H

/* The part of the stack that a form may use, from register 15 on: a frame. */
#define FORMS_STACK		160

#define FORMS_DISTANCE		2048

/* struct forms_state */
#define FORMS_GPR		0
#define FORMS_FLAGS		128
#define FORMS_WHERE		136
#define FORMS_FPC		144
#define FORMS_ACR		152
#define FORMS_STACK_AT		216
#define FORMS_VXR		384

/* Where a form led, beside those in forms.h: it has faulted. */
#define FORMS_FAULTED		3

/* struct form's flags. Nothing runs with C, which would repeat what faults, for ever. */
#define FORM_KILLS_C		0
/* What it writes to memory is not the same each time. */
#define FORM_VARIES		0x20000
#define FORM_FOLLOWED		0

#define FORMS_PERCPU		0
#define FORMS_NESTED(form)	false
#define FORMS_POSITIONS		1
#define FORMS_JUMPS		IS_ENABLED(CONFIG_OPTPROBES)
#define FORMS_JUMPS_LEAST	3600
#define FORMS_TRAP		2
/* It stops all CPUs. */
#define FORMS_DISABLED_EACH	32

#ifndef __ASSEMBLY__

#include <linux/types.h>

/* All that an instruction can see and change, memory aside. */
struct forms_state {
	u64 gpr[16];
	/* The first half of the PSW. */
	u64 flags;
	u64 where;
	u32 fpc;
	/* The length and the code of the exception, if there was one. */
	u32 fault;
	u32 acr[16];
	u64 stack[FORMS_STACK / 8];
	u64 unused;
	u8 vxr[32][16];
} __aligned(16);

struct form_of_arch {
	u8 contents[8];		/* of registers: enum contents, four bits each */
};

/* run.S: where a form goes on after an exception. */
void forms_faulted(void);

#endif /* !__ASSEMBLY__ */
#endif /* KPROBES_FORMS_STATE_H */
