# SPDX-License-Identifier: GPL-2.0
# limit: 300
# Arguments by name, which perf finds in the kernel's debugging information.
perf probe --quiet --vmlinux /kernel/vmlinux --add 'make=vfs_mkdir mode'
grep -o 'probe/make .*' $TRACING/kprobe_events >&2
start perf record --quiet -o data -e probe:make -a -- bash -c \
	'mkdir -m 700 /tmp/case/a; mkdir -m 755 /tmp/case/b; sleep 2'
wait_for 60 armed 1 vfs_mkdir
ours 1 ' k +vfs_mkdir\+'
finished
perf script -i data -F comm,event,trace | sed 's/([^)]*)//' | sort | uniq -c
perf probe --quiet --del 'probe:*'
