// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's instruction decoder as a library for the host tests: its own
 * insn.c and inat.c, compiled for user space as objtool and perf do, and a
 * function that needs no knowledge of its structures to call.
 */
#include "tools/arch/x86/lib/inat.c"
#include "tools/arch/x86/lib/insn.c"

#include <stdint.h>

/*
 * The length of the instruction in SIZE bytes, or below zero. DISPLACEMENT gets
 * the place of a displacement that the instruction's end is added to, or -1.
 */
int insn_c_decode(const uint8_t *bytes, int size, int *displacement)
{
	struct insn insn;
	int ret = insn_decode(&insn, bytes, size, INSN_MODE_64);

	*displacement = -1;
	if (ret < 0)
		return ret;
	if (insn_rip_relative(&insn))
		*displacement = insn_offset_displacement(&insn);
	return insn.length;
}
