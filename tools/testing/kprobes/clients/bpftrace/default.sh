# SPDX-License-Identifier: GPL-2.0
# limit: 300
# The default: kprobe_multi, which is fprobe's and no kprobe; ours stand beside it.
echo 'p:ours/cd set_fs_pwd' >$TRACING/kprobe_events
echo 1 >$TRACING/events/ours/cd/enable
ours 1 set_fs_pwd
start bpftrace -e 'kprobe:vfs_mkdi*, kprobe:set_fs_pwd { @[func] = count(); }
	interval:s:200 { exit(); }'
wait_for 200 grep -q Attached err out
for n in {1..10}; do mkdir m$n; cd m$n; cd ..; done
stop
echo 0 >$TRACING/events/ours/cd/enable
grep '^@' out | sort
awk '$1 == "cd" { print $2 }' $TRACING/kprobe_profile
echo >$TRACING/kprobe_events
nobody .
