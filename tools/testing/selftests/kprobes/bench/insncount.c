// SPDX-License-Identifier: GPL-2.0
/*
 * A QEMU plugin that counts executed guest instructions, whoever executes them
 * and however long the guest sleeps in between. Whenever the guest executes
 * the benchmark's mark (bench_mark() in report.c) it writes the count so far
 * to QEMU's log: "mark NUMBER INSTRUCTIONS", numbered from 0.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "insncount.h"

VISIBLE int qemu_plugin_version = 4;

/* x86: nopl 0x6b70726f(%rax). s390: bc 0,0x706(%r6,%r11). arm: hint #107. */
static const struct {
	uint8_t length;
	uint8_t bytes[7];
} marks[] = {
	{ 7, { 0x0f, 0x1f, 0x80, 0x6f, 0x72, 0x70, 0x6b } },
	{ 4, { 0x47, 0x06, 0xb7, 0x06 } },
	{ 4, { 0x6b, 0xf0, 0x20, 0xe3 } },
};

static struct counter executed;

static int is_mark(const struct qemu_plugin_insn *insn)
{
	uint8_t bytes[sizeof(marks->bytes)];
	size_t i, length = qemu_plugin_insn_data(insn, bytes, sizeof(bytes));

	for (i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (length == marks[i].length &&
		    !memcmp(bytes, marks[i].bytes, length))
			return 1;
	return 0;
}

static void marked(unsigned int cpu, void *data)
{
	static unsigned int number;
	char text[64];

	snprintf(text, sizeof(text), "mark %u %llu\n", number++,
		 (unsigned long long)qemu_plugin_u64_sum(executed));
	qemu_plugin_outs(text);
}

/*
 * A block is counted as a whole when it is entered. One that an exception
 * leaves in its middle is counted too high by a few instructions.
 */
static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t i, count = qemu_plugin_tb_n_insns(tb);

	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, INLINE_ADD_U64,
							  executed, count);
	for (i = 0; i < count; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		if (is_mark(insn))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, marked,
							       USES_NO_REGISTERS, NULL);
	}
}

VISIBLE int qemu_plugin_install(uint64_t id, const struct qemu_info *info,
				int argc, char **argv)
{
	executed.board = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
