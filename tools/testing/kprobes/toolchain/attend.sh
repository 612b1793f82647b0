#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Stands between kp and what it runs: attend.sh CMD... An interrupt (SIGINT)
# that reaches only this process goes on to CMD, which can then say how to
# continue and end what it started; a shell with CMD in the foreground would
# sit it out. A second interrupt, or any other signal, ends this shell, and CMD
# with it: whoever sent it wants an end now.

# In the background, because only `wait` is cut short by a trap. Same process
# group, so the terminal stays CMD's; standard input has to be said, or it
# would be /dev/null. SIGINT is ignored there: CMD has to take it back.
setpriv --pdeathsig KILL "$@" <&0 &
child=$!
told=
again=
trap '[ -z "$told" ] || exit 130; told=y again=y; kill -INT "$child" 2>/dev/null' INT
while :; do
	wait "$child"
	status=$?
	# A wait that was cut short has nothing to say about CMD.
	[ -n "$again" ] || exit "$status"
	again=
done
