/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The shape of the 32,768 generated sites: BENCH_FUNCTIONS functions, each a
 * row of BENCH_SITES moves of BENCH_SITE_BYTES bytes and a return, over
 * BENCH_PARTS modules.
 *
 * To find the symbol of an address in a module, the kernel walks over all of
 * the module's symbols, and the C implementation does so for each instruction
 * it decodes between the symbol's start and the probe. With few sites per
 * symbol and few symbols per module, that stays small beside what registering
 * a probe costs anyway.
 */
#ifndef _KPROBES_BENCH_SITES_H
#define _KPROBES_BENCH_SITES_H

#define BENCH_PARTS		8
#define BENCH_FUNCTIONS		2048
#define BENCH_SITES		16

#endif
