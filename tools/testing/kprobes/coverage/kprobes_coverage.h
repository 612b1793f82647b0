/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is assembly in the module that sees which probes become jumps.
 */
#ifndef _KPROBES_COVERAGE_H
#define _KPROBES_COVERAGE_H

#include <linux/types.h>

extern u8 kprobes_coverage_last[];

#endif
