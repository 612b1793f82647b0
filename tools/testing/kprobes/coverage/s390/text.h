/* SPDX-License-Identifier: GPL-2.0 */
#define LONGEST	6
#define FORMS					\
	{ 0xffff0000, 0x00020000, "breakpoint" },	\
	{ 0xffff0000, 0xc0f40000, "ftrace", 0xc0040000 },	\
	{ 0xffff0000, 0xc0f40000, "jump" }
#define LAST	"llilf %r1, 1\n br %r14\n"
