# SPDX-License-Identifier: GPL-2.0
# The functions and names of x86_64 that replace those of lib.sh.

# entered WAY WHY: such a place stays a breakpoint, and is said to, and why.
entered() {
	mark "$1"
	load kprobes_crash how="$1" || return 1
	why=0
	since "$1" "way_in: registered, a breakpoint" >/dev/null &&
		since "$1" "way_in: survived with 7, 1 hits, after a jump" >/dev/null &&
		says "^kprobes_way_in_[a-z]*\+.*\]  $2: kprobes_way_in_" \
			$KPROBES/unoptimized || why=1
	rmmod kprobes_crash
	return $why
}

survivals() {
	check H9_zero_padded_load spared zeropad "zeropad: survived 1 hits"
	# Elsewhere a jump is over one instruction, and nothing leads into it.
	[ -e $KPROBES/unoptimized ] || return 0
	check O5_static_key entered static_key \
		"a jump label leads into the bytes of the jump, or may"
	check O5_other_symbol entered other_symbol \
		"a branch of another function leads into the bytes of the jump"
}
