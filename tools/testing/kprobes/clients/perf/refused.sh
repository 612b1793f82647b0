# SPDX-License-Identifier: GPL-2.0
# What is said where no probe can be.
perf probe --quiet --add fine=set_fs_pwd
ours 1 set_fs_pwd
perf probe --quiet --del fine
for place in $NOPROBE no_such_function vfs_mkdir+1 set_fs_pwd+0x3%return start_kernel; do
	echo "== $place"
	perf probe --add "no=$place" 2>&1 || echo "status $?"
done
