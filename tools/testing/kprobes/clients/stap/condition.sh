# SPDX-License-Identifier: GPL-2.0
# SystemTap: a script switches its probes on and off; what comes between is
# not seen.
script

# used: they are called and return, five times.
used() {
	for _ in {1..5}; do
		mkdir m
		cd /tmp/case/m || exit
		cd /tmp/case || exit
		rmdir m
	done
}
switch=/proc/systemtap/stap_condition/on
used
for round in 1 2 3; do
	echo 1 >$switch
	wait_for 20 armed 2 ' (k +set_fs_pwd|r +vfs_rmdir)\+'
	ours 2 ' (k +set_fs_pwd|r +vfs_rmdir)\+'
	used
	echo 0 >$switch
	wait_for 20 armed 0 .
	used
	echo "round $round"
done
script_ends
