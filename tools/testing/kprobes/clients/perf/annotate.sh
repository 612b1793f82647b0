# SPDX-License-Identifier: GPL-2.0
# limit: 240
# unfit: s390x: C's kprobes have no jumps to show there
# unfit: armv7l: kernels of arm have no /proc/kcore
# perf record --kcore of a place that is a jump; annotate shows the jump there.
offset=$(python3 /clients/inside.py vfs_statx)
perf probe --quiet --add "inside=vfs_statx+$offset"
# Of a name of its own: this shell looks for files as well.
cp /bin/bash caller
start perf record --quiet --kcore -o data -e probe:inside -e cpu-clock -a -- \
	./caller -c 'for ((n = 0; n < 400; n++)); do [ -e /etc/passwd ]; done; sleep 3;
		for ((n = 0; n < 400; n++)); do [ -e /etc/passwd ]; done'
wait_for 60 probed 1 ' k +vfs_statx\+.*\[OPTIMIZED\]'
ours 1 ' k +vfs_statx\+'
finished
perf script -i data/data -F comm,event | awk '$1 == "caller" && /inside/' | sort | uniq -c
perf annotate -i data --stdio -s vfs_statx 2>/dev/null >text || :
cat text >&2
start=$(awk '$3 == "vfs_statx" { print $1 }' /proc/kallsyms)
place=$(printf '%x' $((0x$start + offset)))
grep -o -E -m 1 "100\.00 .* $place: +jmp " text | sed "s/$place/the place/"
perf probe --quiet --del 'probe:*'
