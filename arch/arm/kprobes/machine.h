/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface between the arm part of the Rust kprobes and C.
 */
#ifndef _ARCH_ARM_KPROBES_MACHINE_H
#define _ARCH_ARM_KPROBES_MACHINE_H

#include <linux/types.h>

struct llist_head;
struct pt_regs;

/* <asm/kprobes.h> has a macro of this name, which Rust does not see. */
#undef arch_specific_insn
typedef struct arch_probes_insn arch_specific_insn;

bool kprobe_original_frame(unsigned long *ip, unsigned long *sp);
bool rust_kprobes_undefined(struct pt_regs *regs);
void rust_kprobes_change_text(int (*change)(void *data), void *data);
void rust_kprobes_write_insn(unsigned long at, unsigned int insn);
bool rust_kprobes_load(u32 *value, unsigned long at, u8 size, bool faults);
bool rust_kprobes_store(u32 value, unsigned long at);
#ifdef CONFIG_KRETPROBES
int rust_kprobes_this_cpu(void);
const struct llist_head *rust_kprobes_calls(void);
/* return.S */
void rust_kprobes_return(struct pt_regs *regs);
#endif

#endif /* _ARCH_ARM_KPROBES_MACHINE_H */
