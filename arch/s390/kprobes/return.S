/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The trampoline of return probes: functions with a hooked return come here. It
 * calls the handlers, and continues at the real return address.
 *
 * Register 14 has the address of the trampoline. The trampoline stores that where
 * a called function stores its return address, so an unwinder finds it, and asks
 * for the real one.
 */
#include <linux/linkage.h>
#include <asm/asm-offsets.h>
#include <asm/ptrace.h>

#define FRAME_SIZE	(STACK_FRAME_OVERHEAD + __PT_SIZE)
#define GPRS		(STACK_FRAME_OVERHEAD + __PT_GPRS)
#define PSW		(STACK_FRAME_OVERHEAD + __PT_PSW)

	.section .kprobes.text, "ax"

SYM_CODE_START(arch_rethook_trampoline)
	stg	%r14,(__SF_GPRS+8*8)(%r15)
	lay	%r15,-FRAME_SIZE(%r15)
	stmg	%r0,%r14,GPRS(%r15)
	/* The stack pointer of the caller, as back chain and for the handlers. */
	lay	%r7,FRAME_SIZE(%r15)
	stg	%r7,__SF_BACKCHAIN(%r15)
	stg	%r7,GPRS+15*8(%r15)
	epsw	%r2,%r3
	risbg	%r3,%r2,0,31,32
	stg	%r3,PSW(%r15)
	larl	%r1,arch_rethook_trampoline
	stg	%r1,PSW+8(%r15)
	la	%r2,STACK_FRAME_OVERHEAD(%r15)
	brasl	%r14,rust_kprobes_return
	mvc	__SF_EMPTY(16,%r7),PSW(%r15)
	lmg	%r0,%r15,GPRS(%r15)
	lpswe	__SF_EMPTY(%r15)
SYM_CODE_END(arch_rethook_trampoline)
