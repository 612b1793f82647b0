# SPDX-License-Identifier: GPL-2.0
# A probe behind a function's first bytes; after a while it is a jump, where C has jumps.
offset=$(python3 /clients/inside.py vfs_statx)
perf probe --quiet --add "inside=vfs_statx+$offset"
# Of a name of its own: this shell looks for files as well.
cp /bin/bash caller
start perf record --quiet -o data -e probe:inside -a -- ./caller -c \
	'for ((n = 0; n < 40; n++)); do [ -e /etc/passwd ]; [ -e /proc/self ]; done; sleep 2'
wait_for 60 probed 1 " k +vfs_statx\+$JUMP"
ours 1 ' k +vfs_statx\+'
finished
perf script -i data -F comm,event,sym | awk '$1 == "caller"' | sort | uniq -c
perf probe --quiet --del 'probe:*'
