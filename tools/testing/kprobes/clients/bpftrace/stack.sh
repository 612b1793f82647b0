# SPDX-License-Identifier: GPL-2.0
# Who called: stacks are those of the caller, at an entry and at a return.
start bpftrace --no-feature kprobe_multi -e 'kprobe:vfs_mkdir { @entry[kstack(4)] = count(); }
	kretprobe:vfs_mkdir { @return[kstack(4)] = count(); }
	interval:s:60 { exit(); }'
wait_for 90 probed 2 vfs_mkdir
ours 1 ' k +vfs_mkdir\+'
ours 1 ' r +vfs_mkdir\+'
for n in {1..10}; do mkdir m$n; done
stop
sed -n '/^@/,/^]/p' out | sed 's/+[0-9]*$//'
nobody .
