# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the cases of `make test-clients` use. A case is sourced behind this, with
# -e and -x; what it prints, both implementations must print alike.

# shellcheck disable=SC2034 # the cases use them
TRACING=/sys/kernel/tracing
LIST=/sys/kernel/debug/kprobes/list

# How the list marks a probe that has become a jump (nothing where C's kprobes have
# none), and tracefs' name of the first argument. Of each machine: how the functions
# of system calls begin, one that may not be probed, bpftrace's name of the
# instruction pointer, and what attach.py asks for.
JUMP='.*\[OPTIMIZED\]' ARG1=\$arg1
# shellcheck source=tools/testing/kprobes/clients/lib-x86_64.sh
. "/clients/lib-$(uname -m).sh"

# no_jumps: from here on none is made, where there are jumps.
no_jumps() {
	[ ! -e /proc/sys/debug/kprobes-optimization ] || echo 0 >/proc/sys/debug/kprobes-optimization
}

# wrong WHY: this case has failed; what its last tool has said stands before that.
wrong() {
	set +x
	cat out err >&2 2>/dev/null || :
	echo "$*" >&2
	exit 1
}

# listed PATTERN: how many probes in kprobes' own list match.
listed() {
	grep -c -E -- "$1" $LIST || :
}

# ours NUMBER PATTERN: as many probes that match stand in kprobes' own list.
ours() {
	local found
	found=$(listed "$2")
	if [ "$found" != "$1" ]; then
		head -n 20 $LIST >&2
		wrong "expected $1 probes in kprobes/list like '$2', found $found"
	fi
	[ "$1" = 0 ] || echo "$1 $2" >>"/results/$CASE.used"
}

# at_least NUMBER PATTERN: the same, for whoever chooses the functions itself.
at_least() {
	local found
	found=$(listed "$2")
	[ "$found" -ge "$1" ] ||
		wrong "expected at least $1 probes in kprobes/list like '$2', found $found"
	echo "$found $2" >>"/results/$CASE.used"
}

# watch: from here on the probes in kprobes' list are noted; watched: ends that, and they are used.
watch() {
	while sleep 0.1; do
		awk '{ print $2, $3 }' $LIST
	done >/tmp/case/seen 2>/dev/null &
	watcher=$!
}

watched() {
	kill "$watcher"
	sort -u /tmp/case/seen | tee "/results/$CASE.used" >&2
}

# What start has begun, and not yet stop ended.
tool=

# start COMMAND...: a tool in the background; what it says is in out and err.
start() {
	# A shell has its children in the background ignore Ctrl-C.
	env --default-signal=INT "$@" >out 2>err &
	tool=$!
}

# A case that ends before its time does not leave it to the next one.
trap '[ -z "$tool" ] || { kill -INT "$tool" && wait "$tool"; } || :' EXIT

# stop: ends it as Ctrl-C does, and waits.
stop() {
	kill -INT "$tool" || :
	wait "$tool" || :
	tool=
	cat out err >&2
}

# finished: waits until it ends by itself, and well.
finished() {
	local ended=$tool
	tool=
	wait "$ended" || wrong "the tool failed"
}

# clock STEP: it begins now. clock_tells: it is over; how long it took stands
# below the table.
clock() {
	step=$1 began=$EPOCHREALTIME
}

clock_tells() {
	awk -v now="$EPOCHREALTIME" -v began="$began" -v what="${CASE/\//, } $step" \
		'BEGIN { printf "figures: %s: %.3f s\n", what, now - began }' >&2
}

# wait_for SECONDS COMMAND...: until it succeeds, as long as the tool runs. Programs
# for another CPU than the machine's take $SLOW times as long.
wait_for() {
	local until=$((SECONDS + $1 * SLOW))
	shift
	set +x
	until "$@" >/dev/null 2>&1; do
		[ -z "$tool" ] || kill -0 "$tool" 2>/dev/null || wrong "the tool has ended before: $*"
		[ $SECONDS -lt $until ] || wrong "waited in vain for: $*"
		sleep 0.1
	done
	set -x
}

# script [WORDS]: starts SystemTap's script of this case, with these in front, and
# waits until it watches; script_ends: stops it and shows what it has printed.
script() {
	start "$@" staprun "/stap/stap_${CASE#*/}.ko"
	wait_for 100 grep -q ready out
}

script_ends() {
	stop
	cat out
	nobody .
}

# probed NUMBER PATTERN: are there as many such probes?
probed() {
	[ "$(listed "$2")" = "$1" ]
}

# armed NUMBER PATTERN: are as many switched on?
armed() {
	[ "$(grep -E -- "$2" $LIST | grep -c -v DISABLED)" = "$1" ]
}

# nobody PATTERN: is there none any more?
nobody() {
	! grep -q -E -- "$1" $LIST
}

# scale NUMBER WAY [behind]: attaches so many probes, by perf or by tracefs, and
# detaches them; how long that took stands below the table.
scale() {
	PERF_EVENT_OPEN=$PERF_EVENT_OPEN CALL_SIZE=$CALL_SIZE python3 /clients/attach.py "$@" |
		tee out
	grep -q " $1 attached" out
	echo "$1 by $2" >>"/results/$CASE.used"
	nobody .
}
