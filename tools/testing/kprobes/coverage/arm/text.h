/* SPDX-License-Identifier: GPL-2.0 */
#define LONGEST	4
#define FORMS					\
	{ 0xffffff0f, 0xf801f007, "breakpoint" },	\
	{ 0x0000000f, 0x0000000a, "jump" }
#define LAST	"mov r1, r0\n bx lr\n"
