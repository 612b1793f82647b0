# SPDX-License-Identifier: GPL-2.0
# The functions and names of s390x that replace those of lib.sh.

# With facility 85, text may change while other CPUs run it.
grep -m1 ^facilities /proc/cpuinfo >/dev/kmsg

survivals() {
	check H11_no_hit_is_lost_as_probes_go spared come_and_go \
		"come_and_go: survived [1-9][0-9]* hits"
	check H5_foreign_event spared foreign_event "foreign_event: survived 1 hits"
	check H8_bic spared bic "bic: survived 1 hits"
	check H5_ssm spared ssm "ssm: survived 1 hits"
}

bad_places() {
	INSIDE="no instruction starts at the address"
	NO_INSN="the bytes are no instruction"
	PLACED="the instruction works at its own address only"
	check R1_13_odd bad_place clauses_move_next+1 -22 "$INSIDE"
	check R1_13_in_insn4 bad_place clauses_inner+2 -22 "$INSIDE"
	check R1_13_in_insn6 bad_place clauses_rip+4 -22 "$INSIDE"
	check R1_13_behind_zero bad_place kprobes_target_bp+16 -22 "$NO_INSN"
	check R1_13_zero bad_place clauses_zero -22 "$NO_INSN"
	check R1_13_ex bad_place clauses_ex -22 "$PLACED"
	check R1_13_exrl_target bad_place clauses_exrl_target -22 "$PLACED"
}
