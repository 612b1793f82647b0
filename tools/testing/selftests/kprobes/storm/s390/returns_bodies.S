/* SPDX-License-Identifier: GPL-2.0 */
/* The functions of returns_targets.S. */
#include <linux/linkage.h>
#include "arch.h"

.macro LEAF name
SYM_FUNC_START(\name)
	la	%r2,5(%r3)
	algr	%r4,%r5
	alcgr	%r0,%r1
	br	%r14
SYM_FUNC_END(\name)
.endm

.macro OUTER name inner
SYM_FUNC_START(\name)
	FRAME_BEGIN
	la	%r3,1(%r3)
	brasl	%r14,\inner
	la	%r2,1(%r2)
	FRAME_END
	br	%r14
SYM_FUNC_END(\name)
.endm
