/* SPDX-License-Identifier: GPL-2.0 */
#define LONGEST	JMP32_INSN_SIZE
#define FORMS					\
	{ 0xff000000, 0xcc000000, "breakpoint" },	\
	{ 0xff000000, 0xe9000000, "jump" },		\
	{ 0xff000000, 0xe8000000, "ftrace" }
#define LAST	"mov %rdi, %rax\n mov %rdi, %rcx\n mov %rdi, %rdx\n ret\n int3\n"
