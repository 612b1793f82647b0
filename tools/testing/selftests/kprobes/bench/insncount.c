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

static const uint8_t mark[] = { MARK };
static struct counter executed;

static int is_mark(const struct qemu_plugin_insn *insn)
{
	uint8_t bytes[sizeof(mark)];

	return qemu_plugin_insn_data(insn, bytes, sizeof(bytes)) == sizeof(mark) &&
	       !memcmp(bytes, mark, sizeof(mark));
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
