#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make selfcheck: what of the harness only real builds and a real guest can
# show. Commands are interrupted and killed from outside, so this runs on the
# user's machine, called by kp, which has set KP_CACHE and KP_WORK.
set -uo pipefail
# Jobs in process groups of their own, as a terminal has them; without it bash
# starts them with SIGINT ignored.
set -m
# A shell without jobs that starts this script in the background has SIGINT
# ignored as well, and hands that down.
hearing=(env --default-signal=INT)
"${hearing[@]}" true 2>/dev/null || hearing=()
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tools/testing/kprobes/toolchain/common.sh
. "$here/toolchain/common.sh"

[ -z "${ARCH:-}${IMPL:-}" ] || refuse "no ARCH and no IMPL" "ARCH=${ARCH:-} IMPL=${IMPL:-}" \
	"leave them out: make selfcheck has a kernel of its own"
kp=$here/kp
build=$KP_WORK/build/x86_64-c-test
scratch=$(mktemp -d)
passed=0
failed=0
# Reaches every process of a command through its environment.
TERM=selfcheck-$$
export TERM ARCH=x86_64 IMPL=c CACHE=$KP_CACHE
unset V UNDO PIECE DIR KSRC

cleanup() {
	local job
	for job in $(jobs -p); do
		kill -KILL -- "-$job" 2>/dev/null
	done
	rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# result NAME [REASON]: it has passed, unless there is a reason why not.
result() {
	if [ -z "${2:-}" ]; then
		passed=$((passed + 1))
		echo "selfcheck: $1: passed"
	else
		failed=$((failed + 1))
		tail -n 15 "$scratch"/*.log
		echo "FAILED selfcheck.$1: $2"
	fi
}

# start NAME COMMAND...: kp in the background, its output in NAME.log; its
# process group is $started.
start() {
	local name=$1
	shift
	"${hearing[@]}" "$kp" "$@" >"$scratch/$name.log" 2>&1 </dev/null &
	started=$!
}

said() {
	grep -qF -e "$2" "$scratch/$1.log"
}

# within SECONDS COMMAND...: does the command succeed until then?
within() {
	local tries=$(($1 * 10))
	shift
	until "$@"; do
		[ $((tries -= 1)) -gt 0 ] || return 1
		sleep 0.1
	done
}

# left: the processes of our commands that are still there.
left() {
	grep -lsxzF "TERM=$TERM" /proc/[0-9]*/environ 2>/dev/null |
		sed 's|/proc/||; s|/environ||' | while read -r pid; do
		[ "$pid" = $$ ] || [ "$pid" = "$BASHPID" ] ||
			! grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$pid/status" ||
			tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null |
			grep -v selfcheck.sh
	done
}

nothing_left() {
	[ -z "$(left)" ]
}

mounts() {
	grep -F "$KP_CACHE" /proc/self/mountinfo | sort
}

steps() {
	local n
	n=$(grep -sc '^  CC ' "$build/build.log")
	echo "${n:-0}"
}

compiles() {
	[ "$(steps)" -ge 4 ]
}

# begin_build NAME: a build of some hundred files, and in the middle of it.
begin_build() {
	rm -f "$build"/{mm,kernel,fs}/*.o "$build/build.log"
	JOBS=1 start "$1" kernel
	within 60 compiles
}

before=$(mounts)
start first kernel
if ! wait $started; then
	result a_build "the kernel does not build at all"
else
	begin_build interrupted
	kill -INT -- "-$started"
	wait $started
	ended=$?
	start next kernel
	wait $started
	went_on=$?
	reason=
	[ $ended = 130 ] && said interrupted 'the same command goes on' ||
		reason="status $ended, or not said that the same command goes on"
	[ $went_on = 0 ] && said next '[kernel x86_64 c test] done' ||
		reason="the next one ended with $went_on"
	[ "$(steps)" -le 500 ] || reason="it compiled $(steps) files again"
	result an_interrupted_build_goes_on "$reason"

	begin_build killed
	kill -KILL $started
	reason=
	within 15 nothing_left || reason="15 s later there still ran: $(left)"
	wait $started 2>/dev/null
	start after kernel
	wait $started || reason="$reason; the next one ended with $?"
	[ "$(mounts)" = "$before" ] || reason="$reason; mounts: $(mounts)"
	result a_killed_build_leaves_nothing "$reason"
fi
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
