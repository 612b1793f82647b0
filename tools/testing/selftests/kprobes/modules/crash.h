/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What crash.c and the architectures' parts of its module have of each other.
 */
#ifndef _KPROBES_CRASH_H
#define _KPROBES_CRASH_H

#include <linux/kdebug.h>
#include <linux/kprobes.h>

struct how {
	const char *name;
	int (*run)(void);
};

#define HOW(name)	{ #name, name }

extern struct kprobe probe;
extern int hits;

int count_hit(struct kprobe *p, struct pt_regs *regs);
void after_hit(struct kprobe *p, struct pt_regs *regs, unsigned long flags);
int register_at(const char *symbol);
int survives(const char *how, const char *symbol, void (*hit)(void));
void await_jump(const struct kprobe *kp);

/* A function in assembly. */
#define FUNCTION(name, body)						\
	asm(".pushsection .text\n"					\
	    ".globl " name "\n"						\
	    ".type " name ", %function\n"				\
	    name ":\n"							\
	    body							\
	    ".size " name ", . - " name "\n"				\
	    ".popsection\n")

/* What an architecture has: more ways, ended by an empty one, and their end. */
extern const struct how arch_hows[];
void arch_exit(void);

/* From an instruction that faults to the address that its trap saves. */
#ifdef CONFIG_S390
#include <asm/dis.h>
#define FAULT_SAVES(at)	insn_length(*(const u8 *)(at))
#else
#define FAULT_SAVES(at)	0
#endif

bool is_jump(const struct kprobe *kp);

asmlinkage void kprobes_no_fixup_target(void);
asmlinkage void kprobes_no_fixup_jump(void);
asmlinkage void kprobes_no_fixup_after(void);
/* It adds five, and may have a jump. */
asmlinkage long kprobes_sleeps_target(long value);
/* It returns to where it is told to. */
asmlinkage void kprobes_lost_way_return_to(unsigned long to);

#endif
