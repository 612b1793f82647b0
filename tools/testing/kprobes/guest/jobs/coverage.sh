# SPDX-License-Identifier: GPL-2.0
# Registers probes on the addresses in /rounds, one file after the other, and
# says what has become of each. Jumps are allowed once all of a round are
# there: the C implementation lets nobody register while it waits for tasks.

RESULTS=$DEBUG/kprobes_coverage
TELL=/sys/module/kprobes_coverage/parameters

# told PARAMETER WORD: to the module.
told() {
	echo "$2" >$TELL/$1 || say "coverage: trouble $*"
}

# jumps 0 or 1: not allowed, or allowed, where there are any.
jumps() {
	[ ! -e $JUMPS ] || echo "$1" >$JUMPS
}

load kprobes_coverage || say "coverage: trouble load"
text=$(sed -n 's/ . _stext$//p' /proc/kallsyms)
told moved $((0x$text - 0x$STEXT))
for round in /rounds/*; do
	say "coverage: round ${round##*/}"
	jumps 0
	while read -r address; do
		told address "$address"
	done <"$round"
	told round register
	jumps 1
	told round wait
	while read -r line; do
		say "coverage: at $line"
	done <$RESULTS
	if [ "$IMPL" = rust ]; then
		tail -n "$(grep -vc ' 0 ' $RESULTS)" $KPROBES/refused | while IFS= read -r line; do
			say "coverage: refused $line"
		done
		while IFS= read -r line; do
			say "coverage: stays $line"
		done <$KPROBES/unoptimized
	fi
	jumps 0
	told round unregister
	while read -r line; do
		say "coverage: after $line"
	done <$RESULTS
done
say "coverage: end"
