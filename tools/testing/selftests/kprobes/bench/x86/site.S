/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The generated functions of part.S: how one begins, each instruction to probe,
 * and how it ends.
 */
#include <linux/objtool.h>
#include <asm/ibt.h>

	.macro bench_site_begin
	ENDBR
	.endm

	.macro bench_site
	movl	$0x6b70726f, %eax
	.endm

	.macro bench_site_end
	RET
	.endm
