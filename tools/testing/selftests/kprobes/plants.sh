# SPDX-License-Identifier: GPL-2.0
# Uses of freed memory, one after the other; KASAN has to report each.

for plant in "$DEBUG"/kprobes_plants/*; do
	mark "plant ${plant##*/}"
	echo 1 >"$plant" || say "BUG: it was refused"
	mark planted
done
