/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A return that keeps all flags. Call depth tracking counts returns in a thunk
 * that changes the flags: with it on, this return is not counted.
 */
#ifndef _ARCH_X86_KPROBES_RET_H
#define _ARCH_X86_KPROBES_RET_H

#include <linux/linkage.h>
#include <linux/objtool.h>
#include <linux/stringify.h>
#include <asm/alternative.h>
#include <asm/cpufeatures.h>
#include <asm/nospec-branch.h>

/* A return without a thunk. */
.macro BARE_RET
	ANNOTATE_UNRET_SAFE
	ret
	int3
.endm

.macro RET_WITH_FLAGS
	ALTERNATIVE __stringify(RET), __stringify(BARE_RET), X86_FEATURE_CALL_DEPTH
.endm

#endif /* _ARCH_X86_KPROBES_RET_H */
