/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What insncount.c uses of QEMU's plugin interface, version 4 (as in QEMU 10),
 * whose own header is in no package.
 */
#ifndef _KPROBES_BENCH_INSNCOUNT_H
#define _KPROBES_BENCH_INSNCOUNT_H

#include <stddef.h>
#include <stdint.h>

#define VISIBLE __attribute__((visibility("default")))

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;
struct qemu_info;

/* One 64-bit counter per virtual CPU, at an offset in a scoreboard. */
struct counter {
	struct qemu_plugin_scoreboard *board;
	size_t offset;
};

enum { INLINE_ADD_U64 = 0 };
enum { USES_NO_REGISTERS = 0 };

typedef void translated_fn(uint64_t id, struct qemu_plugin_tb *tb);
typedef void executed_fn(unsigned int cpu, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, translated_fn *callback);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *
qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to,
			     size_t length);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    executed_fn *callback, int flags,
					    void *data);
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb *tb,
						       int operation,
						       struct counter counter,
						       uint64_t value);
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t size);
uint64_t qemu_plugin_u64_sum(struct counter counter);
void qemu_plugin_outs(const char *text);

#endif
