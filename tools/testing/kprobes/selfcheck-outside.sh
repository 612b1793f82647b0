#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The part of `make selfcheck` that has to run outside the toolchain root:
# making that root fails, and a build is killed from outside. Called by kp,
# which has set KP_REPO, KP_CACHE and KP_WORK; leaves its results in
# $KP_WORK/selfcheck-outside, one a line, for harness/faults.py to count.
# The last line there says that this script came to its end.
set -uo pipefail
# Jobs in process groups of their own, as a terminal has them; without it
# bash would start them deaf to Ctrl-C.
set -m
# Who is started in the background by a shell without jobs is deaf to it as
# well, and cannot hear by himself again.
hearing=(env --default-signal=INT)
"${hearing[@]}" true 2>/dev/null || hearing=()
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tools/testing/kprobes/toolchain/common.sh
. "$here/toolchain/common.sh"

kp=$here/kp
results=$KP_WORK/selfcheck-outside
build=$KP_WORK/build/x86_64-c-test
scratch=$(mktemp -d)
running=
# Reaches every process of a command through its environment.
TERM=selfcheck-$$
export TERM ARCH=x86_64 IMPL=c CACHE=$KP_CACHE
unset V UNDO PIECE DIR
mkdir -p "$KP_WORK"
: >"$results"

cleanup() {
	[ -z "$running" ] || kill -KILL -- "-$running" 2>/dev/null
	rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# result STATUS NAME [REASON]
result() {
	printf '%s\t%s\t%s\n' "$1" "$2" "${3:-}" >>"$results"
	[ "$1" = skip ] || note "selfcheck: $2: $1"
}

# quietly COMMAND...: its output into a log; a signal to this script is not
# kept waiting until it ends.
quietly() {
	local status=0
	"$@" >"$scratch/log" 2>&1 </dev/null &
	running=$!
	wait $running || status=$?
	running=
	return $status
}

# expect NAME STATUS WORD... -- COMMAND...: COMMAND must end with STATUS and
# say each WORD.
expect() {
	local name=$1 status=$2 got=0 wrong='' words=() word
	shift 2
	while [ "$1" != -- ]; do
		words+=("$1")
		shift
	done
	shift
	quietly "$@" || got=$?
	[ "$got" = "$status" ] || wrong="exit status $got, not $status"
	for word in "${words[@]}"; do
		grep -qF -e "$word" "$scratch/log" || wrong="$wrong; no \"$word\""
	done
	if [ -n "$wrong" ]; then
		tail -n 15 "$scratch/log" >&2
		result fail "$name" "${wrong#; }"
	else
		result pass "$name"
	fi
}

# left: the processes of ours that are still there.
left() {
	grep -lsxzF "TERM=$TERM" /proc/[0-9]*/environ 2>/dev/null |
		sed 's|/proc/||; s|/environ||' | while read -r pid; do
		[ "$pid" = $$ ] || [ "$pid" = "$BASHPID" ] ||
			! grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$pid/status" ||
			tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null |
			grep -v selfcheck-outside
	done
}

# nothing_left: within 15 s (make is given some to tidy up); what is there, if
# not.
nothing_left() {
	local n
	for ((n = 0; n < 30; n++)); do
		[ -n "$(left)" ] || return 0
		sleep 0.5
	done
	left | head -n 3 | paste -sd' ' | cut -c1-300
	return 1
}

steps() {
	local n
	n=$(grep -c '^  CC ' "$build/build.log" 2>/dev/null)
	echo "${n:-0}"
}

# killed SIGNAL NAME: begin the build, and end it in the middle.
killed() {
	local n found status=0
	rm -f "$build/build.log"
	JOBS=1 "${hearing[@]}" "$kp" kernel >"$scratch/log" 2>&1 </dev/null &
	running=$!
	for ((n = 0; n < 1200; n++)); do
		[ "$(steps)" -lt 4 ] || break
		kill -0 $running 2>/dev/null || break
		sleep 0.05
	done
	# Ctrl-C reaches everybody on the terminal, the others one process.
	case $1 in
	INT) kill -INT -- "-$running" ;;
	ALONE) kill -INT $running ;;
	*) kill "-$1" $running ;;
	esac 2>/dev/null
	if ! found=$(nothing_left); then
		kill -KILL -- "-$running" 2>/dev/null
		result fail "$2" "15 s after SIG$1 there still ran: $found"
	else
		{ wait $running || status=$?; } 2>/dev/null
		if [ $status = 0 ] || [ "$(steps)" -lt 4 ]; then
			tail -n 15 "$scratch/log" >&2
			result fail "$2" "it was not killed in the middle of a build (status $status)"
		elif [[ $1 = INT || $1 = ALONE ]] && ! grep -q 'the same command goes on' "$scratch/log"; then
			result fail "$2" "it does not say that the same command goes on"
		else
			result pass "$2"
		fi
	fi
	running=
}

mounts() {
	grep -F "$KP_CACHE" /proc/self/mountinfo | sort
}

note "selfcheck: what goes wrong outside the toolchain root"
before=$(mounts)

expect a_cache_that_cannot_be 2 "mkdir failed" "CACHE=/some/dir" -- \
	env CACHE=/proc/none/such "$kp" kernel
expect a_kernel_tree_that_is_not_there 2 "KSRC= to name a directory" \
	"give an existing path" -- env KSRC="$scratch/none" "$kp" kernel

reason=
[ "$(id -u)" = 0 ] || reason="needs root: an ordinary user cannot take the network away and still map ids"
[ -n "$reason" ] || have mmdebstrap || reason="no mmdebstrap here, so no root can be made"
if [ -n "$reason" ]; then
	result skip no_network_for_the_toolchain "$reason"
	result skip a_disk_too_small_for_the_toolchain "$reason"
else
	mkdir "$scratch/cache"
	expect no_network_for_the_toolchain 2 "mmdebstrap to make" \
		"reachable (proxy variables)" "DEBIAN_MIRROR=" -- \
		env -u HOST_TOOLS CACHE="$scratch/cache" unshare --net "$kp" kernel
	rm -rf --one-file-system "$scratch/cache"
	mkdir "$scratch/cache"
	# shellcheck disable=SC2016 # expands in the inner shell
	expect a_disk_too_small_for_the_toolchain 2 "GiB free" "MiB free" "CACHE=" -- \
		env -u HOST_TOOLS CACHE="$scratch/cache" unshare --mount sh -ec \
		'mount -t tmpfs -o size=64m full "$CACHE"; exec "$@"' sh "$kp" kernel
fi

if ! quietly "$kp" kernel; then
	tail -n 15 "$scratch/log" >&2
	result fail a_build_to_be_killed "the kernel does not build at all"
else
	# Something to compile: the cache of the compiler's results has it all.
	rm -f "$build"/mm/*.o "$build"/kernel/*.o "$build"/fs/*.o
	killed INT a_build_stopped_by_ctrl_c
	killed ALONE a_build_that_alone_is_interrupted
	killed TERM a_build_that_is_terminated
	killed KILL a_build_that_is_killed
	expect a_killed_build_goes_on 0 "[kernel x86_64 c test] done" -- "$kp" kernel
	if [ "$(steps)" -gt 500 ]; then
		result fail a_killed_build_keeps_what_it_has "it compiled $(steps) files again"
	else
		result pass a_killed_build_keeps_what_it_has
	fi
fi

if ! found=$(nothing_left); then
	result fail nothing_is_left_running "$found"
elif [ "$(mounts)" != "$before" ]; then
	result fail nothing_is_left_running "mounts: $(mounts | paste -sd' ')"
else
	result pass nothing_is_left_running
fi
result pass end
