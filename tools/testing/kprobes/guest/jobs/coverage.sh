# SPDX-License-Identifier: GPL-2.0
# Registers probes on the addresses in /rounds, one file after the other, and
# says what has become of each. Jumps are allowed once all of a round are
# there: the C implementation lets nobody register while it waits for tasks.

RESULTS=$DEBUG/kprobes_coverage
TELL=/sys/module/kprobes_coverage/parameters
JUMPS=/proc/sys/debug/kprobes-optimization

# told PARAMETER WORD: to the module.
told() {
	echo "$2" >$TELL/$1 || say "coverage: trouble $*"
}

load kprobes_coverage || say "coverage: trouble load"
for round in /rounds/*; do
	say "coverage: round ${round##*/}"
	echo 0 >$JUMPS
	while read -r address; do
		told address "$address"
	done <"$round"
	told round register
	echo 1 >$JUMPS
	told round wait
	while read -r line; do
		say "coverage: at $line"
	done <$RESULTS
	if [ "$IMPL" = rust ]; then
		while IFS= read -r line; do
			say "coverage: refused $line"
		done <$KPROBES/refused
		while IFS= read -r line; do
			say "coverage: stays $line"
		done <$KPROBES/unoptimized
	fi
	echo 0 >$JUMPS
	told round unregister
	while read -r line; do
		say "coverage: after $line"
	done <$RESULTS
done
say "coverage: end"
