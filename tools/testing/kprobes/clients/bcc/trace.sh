# SPDX-License-Identifier: GPL-2.0
# limit: 240
# trace: a function's arguments, and what it has returned.
start trace-bpfcc -n bash 'r::vfs_rmdir "returned %d", retval'
wait_for 200 probed 1 vfs_rmdir
ours 1 ' r +vfs_rmdir\+'
mkdir a
rmdir a
wait_for 20 grep -q returned out || :
stop
grep -o 'vfs_rmdir.*' out
nobody .
