# SPDX-License-Identifier: GPL-2.0
# limit: 240
# funclatency: how long its calls took; a probe at the function and its return.
start funclatency-bpfcc -d 100 vfs_mkdir
wait_for 200 probed 2 vfs_mkdir
ours 1 ' k +vfs_mkdir\+'
ours 1 ' r +vfs_mkdir\+'
for n in {1..20}; do mkdir m$n; done
stop
awk '/->/ { sum += $5 } END { print "calls:", sum }' out
nobody .
