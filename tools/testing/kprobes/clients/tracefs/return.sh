# SPDX-License-Identifier: GPL-2.0
# A return event sees each return, with the value and where it returns to.
echo 'r:ours/mkdir vfs_mkdir $retval' >$TRACING/kprobe_events
ours 1 ' r +vfs_mkdir\+'
echo 1 >$TRACING/events/ours/mkdir/enable
for n in {1..10}; do mkdir m$n; done
echo 0 >$TRACING/events/ours/mkdir/enable
grep -o 'mkdir: (.*' $TRACING/trace | sed -E 's/\+0x[0-9a-f]+//; s/=0x[0-9a-f]{8,}/=x/' |
	sort | uniq -c
awk '$1 == "mkdir" { print $1, $2, $3 }' $TRACING/kprobe_profile
echo >$TRACING/kprobe_events
nobody .
