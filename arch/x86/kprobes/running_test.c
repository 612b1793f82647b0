// SPDX-License-Identifier: GPL-2.0
/*
 * For tests that compare what C reads with what Rust has written.
 */
#include "detour_test.h"

struct kprobe * __kprobes rust_kprobes_test_running(void)
{
	return kprobe_running();
}
