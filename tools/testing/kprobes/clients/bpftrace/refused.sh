# SPDX-License-Identifier: GPL-2.0
# What is said where no probe can be.
echo 'p:ours/fine set_fs_pwd' >$TRACING/kprobe_events
ours 1 set_fs_pwd
echo >$TRACING/kprobe_events
for place in $NOPROBE no_such_function vfs_mkdir+1 start_kernel; do
	echo "== $place"
	bpftrace --no-feature kprobe_multi -e "kprobe:$place { exit(); }" 2>&1 || echo "status $?"
done
