# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# Registers probes on the addresses in /rounds, one file after the other, and
# says what has become of each. Jumps are allowed once all of a round are
# there: the C implementation lets nobody register while it waits for tasks.

ALL=$DEBUG/kprobes_coverage
JUMPS=/proc/sys/debug/kprobes-optimization

# told WORD: to the module.
told() {
	echo "$1" >$ALL/round || say "coverage: trouble $1"
}

load kprobes_coverage || say "coverage: trouble load"
for round in /rounds/*; do
	say "coverage: round ${round##*/}"
	echo 0 >$JUMPS
	cat "$round" >$ALL/addresses || say "coverage: trouble addresses"
	told register
	echo 1 >$JUMPS
	told wait
	while read -r line; do
		say "coverage: at $line"
	done <$ALL/results
	if [ "$IMPL" = rust ]; then
		while IFS= read -r line; do
			say "coverage: refused $line"
		done <$KPROBES/refused
		while IFS= read -r line; do
			say "coverage: stays $line"
		done <$KPROBES/unoptimized
	fi
	echo 0 >$JUMPS
	told unregister
	while read -r line; do
		say "coverage: after $line"
	done <$ALL/results
done
say "coverage: end"
