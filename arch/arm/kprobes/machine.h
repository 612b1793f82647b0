/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface between the arm part of the Rust kprobes and C.
 */
#ifndef _ARCH_ARM_KPROBES_MACHINE_H
#define _ARCH_ARM_KPROBES_MACHINE_H

#include <linux/types.h>

struct mm_struct;
struct pt_regs;

/* <asm/kprobes.h> has a macro of this name, which Rust does not see. */
#undef arch_specific_insn
struct arch_specific_insn { struct arch_probes_insn insn; };

bool rust_kprobes_undefined(struct pt_regs *regs);

/* mm/abort-ev7.S, pabort-v7.S and proc-v7.S */
void v7_early_abort(void);
void v7_pabort(void);
void cpu_v7_proc_init(void);
void cpu_v7_switch_mm(phys_addr_t pgd, struct mm_struct *mm);
void cpu_v7_iciallu_switch_mm(phys_addr_t pgd, struct mm_struct *mm);
void cpu_v7_bpiall_switch_mm(phys_addr_t pgd, struct mm_struct *mm);
void cpu_v7_smc_switch_mm(phys_addr_t pgd, struct mm_struct *mm);
void cpu_v7_hvc_switch_mm(phys_addr_t pgd, struct mm_struct *mm);

bool kprobe_original_frame(unsigned long *ip, unsigned long *sp);
void rust_kprobes_write(unsigned long at, const void *code, size_t len);
u32 rust_kprobes_read(unsigned long at, u8 size);
bool rust_kprobes_try_word(u32 *word, unsigned long at, bool write);
void rust_kprobes_call_handlers(const unsigned long *chain_word, struct pt_regs *regs);
#ifdef CONFIG_RUST_KPROBES_JUMPS
/* trampoline.S */
extern const char rust_kprobes_detour[], rust_kprobes_detour_frame[];
extern const char rust_kprobes_detour_end[], rust_kprobes_detour_template[];
#endif
#ifdef CONFIG_KRETPROBES
/* return.S */
extern const char rust_kprobes_return_frame[];
#endif

#endif /* _ARCH_ARM_KPROBES_MACHINE_H */
