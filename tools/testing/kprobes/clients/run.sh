#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In the guest of `make test-clients`: runs the cases that $WANTED names, one
# after another, each in a shell of its own with lib.sh. What a case prints is
# what both implementations must show alike: /results/CASE.out. All else that
# was said is in CASE.log.
#
# A case is right if it ends well, has asked by `ours` whether its probes are
# those of kprobes, and leaves none behind. The console says of each:
#   case: NAME VERDICT SECONDS: WHY
# One that says `# unfit: MACHINE: WHY` is skipped on that machine; one that says
# `# unfit for C: MACHINE: WHY`, with C's kprobes there.

say() {
	echo "$*" >/dev/kmsg
}

# The time that a case has if it says no other.
LIMIT=120

# of_case NAME WORD: what stands behind `# WORD:` in its head.
of_case() {
	sed -n "s/^# $2: *//p; /^[^#]/q" "/clients/$1.sh"
}

# last_words FILE: why it ended so; the last lines that are no trace of ours.
last_words() {
	grep -v -E '^(\+|$)' "$1" | tail -n 3 | cut -c1-300 | paste -sd' '
}

# scripts: the modules of SystemTap's scripts that are loaded.
scripts() {
	sed -n 's/^\(stap_[a-z0-9_]*\) .*/\1/p' /proc/modules
}

# judge NAME STATUS: sets verdict and why.
judge() {
	local left
	verdict=fail
	case $2 in
	0)
		left=$(head -n 3 /sys/kernel/debug/kprobes/list)
		if [ -n "$left" ]; then
			why="probes were left behind: $left"
		elif left=$(scripts) && [ -n "$left" ]; then
			why="scripts of SystemTap were left behind: $left"
		elif [ ! -s "/results/$1.used" ]; then
			why="it did not ask whether its probes are ours"
		else
			verdict=pass why=
		fi
		;;
	124 | 137)
		why="no end within $limit s; $(last_words "/results/$1.log")"
		;;
	*)
		why="status $2: $(last_words "/results/$1.log")"
		;;
	esac
}

for name in $WANTED; do
	mkdir -p "/results/${name%/*}"
	rm -f "/results/$name".*
	limit=$(of_case "$name" limit)
	limit=$((${limit:-$LIMIT} * SLOW))
	began=$SECONDS
	unfit=$(of_case "$name" "unfit: $(uname -m)")
	[ -e /sys/kernel/debug/kprobes/refused ] ||
		unfit=$unfit$(of_case "$name" "unfit for C: $(uname -m)")
	if [ -n "$unfit" ]; then
		say "case: $name skip 0: $unfit"
		continue
	fi
	say "case: $name begins"
	mkdir -p /tmp/case
	(
		cd /tmp/case || exit
		export CASE=$name
		exec timeout -k 10 "$limit" bash -euxo pipefail -c \
			". /clients/lib.sh; . /clients/$name.sh" \
			>"/results/$name.out" 2>"/results/$name.log" </dev/null
	)
	judge "$name" $?
	say "case: $name $verdict $((SECONDS - began)): $why"
	rm -rf /tmp/case
	# The next one begins without what this one may have left.
	for script in $(scripts); do
		staprun -d "$script"
	done
	# staprun and who wants breakpoints switch jumps off, and leave it so.
	{
		echo 1 >/proc/sys/debug/kprobes-optimization
		for events in /sys/kernel/tracing/{kprobe,dynamic}_events; do
			echo >"$events"
		done
	} 2>/dev/null
	# A killed program's probes are removed one by one, which takes minutes with C.
	while [ $verdict = fail ] && grep -q . /sys/kernel/debug/kprobes/list &&
		((SECONDS - began < 2 * limit)); do
		sleep 1
	done
done
