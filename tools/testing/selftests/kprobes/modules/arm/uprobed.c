// SPDX-License-Identifier: GPL-2.0
/*
 * A program that uprobes are put on: of ARM code, since they refuse Thumb code,
 * which Debian's programs are. It ends with 0 if uprobed() has returned 257 more
 * than it was given, 100 times. The word before uprobed() says where it is in the
 * file. The numbers there are those of the places in clauses.sh.
 */
asm("	.text\n"
	"	.arm\n"
	"	.balign 4\n"
	"	.word 0\n"
	"	.ascii \"uprobed:\"\n"
	"uprobed:\n"
	"	add r0, r0, #1\n"	/* 8: in a slot */
	"	ldr r1, 1f\n"		/* 12: with PC read */
	"	cmp r0, r1\n"		/* 16 */
	"	addeq r0, r0, #1\n"
	"	b 2f\n"			/* 24: emulated */
	"1:	.word 256\n"
	"2:	push {r1, lr}\n"	/* 32 */
	"	add r0, r0, r1\n"	/* 36 */
	"	pop {r1, pc}\n"		/* 40: with PC written */
	"	.global _start\n"
	"_start:\n"
	"	mov r4, #100\n"
	"1:	mov r0, r4\n"
	"	bl uprobed\n"
	"	sub r0, r0, r4\n"
	"	sub r0, r0, #256\n"
	"	cmp r0, #1\n"
	"	bne 2f\n"
	"	subs r4, r4, #1\n"
	"	bne 1b\n"
	"2:	mov r0, r4\n"
	"	mov r7, #1\n"		/* exit */
	"	svc #0\n");
