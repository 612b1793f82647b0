// SPDX-License-Identifier: GPL-2.0
/*
 * The part of kprobes_crash for arm: the functions that crash.c has probed. They load
 * from where nothing is, as no division traps.
 */
#include <linux/module.h>
#include "crash.h"

bool is_jump(const struct kprobe *kp)
{
	return ((const u8 *)READ_ONCE(kp->addr))[3] == 0xea;
}

FUNCTION("kprobes_no_fixup_target",
	 "	mov r1, #0xfc000000\n"
	 "kprobes_no_fixup_site:\n"
	 "	ldr r2, [r1]\n"
	 "	bx lr\n");
FUNCTION("kprobes_no_fixup_jump",
	 "	mov r1, #0xfc000000\n"
	 "kprobes_no_fixup_jump_site:\n"
	 "	ldr r2, [r1]\n"
	 "	bx lr\n");
FUNCTION("kprobes_no_fixup_after",
	 "	mov r1, #0\n"
	 "	bx lr\n");
FUNCTION("kprobes_sleeps_target",
	 "	add r0, r0, #5\n"
	 "	bx lr\n");
FUNCTION("kprobes_lost_way_return_to",
	 "	mov lr, r0\n"
	 "	bx lr\n");

FUNCTION("kprobes_nobodys_breakpoint",
	 "	udf #0x18\n"
	 "	bx lr\n");

asmlinkage void kprobes_nobodys_breakpoint(void);

/* A breakpoint as kprobes', but of nobody: C runs it for ever. */
static int nobodys(void)
{
	pr_info("nobodys: goes\n");
	kprobes_nobodys_breakpoint();
	return 0;
}

const struct how arch_hows[] = { HOW(nobodys), {} };
