# SPDX-License-Identifier: GPL-2.0
# Returns with their values.
start bpftrace --no-feature kprobe_multi -e 'kretprobe:vfs_rmdir { @[comm, retval] = count(); }
	interval:s:60 { exit(); }'
wait_for 90 probed 1 vfs_rmdir
ours 1 ' r +vfs_rmdir\+'
for n in {1..10}; do mkdir m; rmdir m; done
mkdir -p m/full
rmdir m 2>/dev/null || :
stop
grep '@\[rmdir' out | sort
nobody .
