/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that modules of their own have for others to probe.
 */
#ifndef _KPROBES_PROBED_H
#define _KPROBES_PROBED_H

int kprobes_target_function(int value);
int kprobes_target_untraced(int value);
int kprobes_target_section(int value);
int kprobes_target_named(int value);
int kprobes_target_init_text(int value);
int kprobes_forgetful_function(int value);
int kprobes_lost_way_function(void);

#endif
