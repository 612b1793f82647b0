# SPDX-License-Identifier: GPL-2.0
# A probe event at a function's entry sees each call, with its arguments.
echo "p:ours/cd set_fs_pwd fs=$ARG1" >$TRACING/kprobe_events
ours 1 ' k +set_fs_pwd\+'
echo 1 >$TRACING/events/ours/cd/enable
for n in {1..100}; do cd /tmp/case; done
echo 0 >$TRACING/events/ours/cd/enable
grep -c ' cd: (set_fs_pwd' $TRACING/trace
awk '$1 == "cd" { print $1, $2, $3 }' $TRACING/kprobe_profile
grep -o 'cd: (set_fs_pwd+0x[0-9a-f]*/0x[0-9a-f]*)' $TRACING/trace | sort | uniq -c |
	sed 's,/0x.*,,'
echo >$TRACING/kprobe_events
nobody .
