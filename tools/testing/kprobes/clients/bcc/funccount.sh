# SPDX-License-Identifier: GPL-2.0
# limit: 240
# funccount: how often a function was called.
start funccount-bpfcc -d 100 '^set_fs_pwd$'
wait_for 200 probed 1 set_fs_pwd
ours 1 ' k +set_fs_pwd\+'
for n in {1..100}; do cd /tmp/case; done
stop
grep set_fs_pwd out
nobody .
