// SPDX-License-Identifier: GPL-2.0
/*
 * The cases of the suite, and a copy of the decoder. Each case has a symbol, which
 * Kbuild adds, as if it were a function: what is behind Thumb code in a function of
 * A32 code cannot be probed with kprobes in Rust, which decode a function from its
 * beginning.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <asm/system_info.h>
#include <asm/opcodes.h>
#include <asm/probes.h>

#ifdef CONFIG_THUMB2_KERNEL
#include "test-thumb.c"
#include <decode.c>
#include <decode-thumb.c>
#else
#include "test-arm.c"
#include <decode.c>
#include <decode-arm.c>
#endif
