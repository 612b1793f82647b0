# SPDX-License-Identifier: GPL-2.0
# What every job in the guest uses. Sourced by /init.

DEBUG=/sys/kernel/debug
KPROBES=$DEBUG/kprobes
TRACING=/sys/kernel/tracing
JUMPS=/proc/sys/debug/kprobes-optimization
count=0
# Defaults, which a file of the architecture may replace: the tracer's name of a third
# argument, cases that kill its kernel with C, and places there that refuse probes.
ARG3='$arg3'
survivals() { :; }
bad_places() { :; }
[ ! -e /arch.sh ] || . /arch.sh

say() {
	echo "$*" >/dev/kmsg
}

# show FILE-OR-COMMAND-OUTPUT on standard input, each line marked.
show() {
	while IFS= read -r line; do
		say "| $line"
	done
}

# suite NAME: begins a KTAP stream; plan ends it.
suite() {
	say "KTAP version 1"
	say "# Subtest: $1"
	count=0
}

# One KTAP leaf each.
pass() {
	count=$((count + 1))
	say "ok $count $1"
}

fail() {
	count=$((count + 1))
	say "# $1: $2"
	say "not ok $count $1"
}

skip() {
	count=$((count + 1))
	say "ok $count $1 # SKIP $2"
}

# wrong WHY: says so, and is false.
wrong() {
	echo "$*"
	return 1
}

# not COMMAND...: for check, which takes commands.
not() {
	! "$@"
}

# check NAME COMMAND...: a leaf that passes if the command does.
check() {
	name=$1
	shift
	if out=$("$@" 2>&1); then
		pass "$name"
	else
		fail "$name" "'$*' failed: $out"
	fi
}

# plan: ends a KTAP stream with the number of its leaves.
plan() {
	say "1..$count"
	count=0
}

# load MODULE [PARAMETER...]: by name, from /modules.
load() {
	module=$1
	shift
	insmod "/modules/$module.ko" "$@"
}

# mark NAME: a line in the kernel log; since NAME PATTERN: is PATTERN behind it?
mark() {
	say "mark: $1"
}

since() {
	dmesg | sed -n "/mark: $1\$/,\$p" | grep -E "$2"
}

# listed PATTERN: the lines of `kprobes/list` that match, if there are any.
listed() {
	grep -E "$1" $KPROBES/list
}

not_listed() {
	not listed "$1"
}

# comes_true COMMAND...: now, or in a moment.
comes_true() {
	for moment in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		"$@" && return 0
		sleep 0.5
	done
	wrong "'$*' did not come true"
}

# kmemleak_clean: no leak that the checker knows of.
kmemleak_clean() {
	# An object is only reported once it is five seconds old.
	sleep 6
	echo scan >$DEBUG/kmemleak
	echo scan >$DEBUG/kmemleak
	leaks=$(cat $DEBUG/kmemleak)
	[ -z "$leaks" ] && return 0
	echo "$leaks" | show
	return 1
}
