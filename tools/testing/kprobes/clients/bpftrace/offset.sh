# SPDX-License-Identifier: GPL-2.0
# A probe in the middle of a function, and what was in a register there.
offset=$(python3 /clients/inside.py vfs_mkdir)
start bpftrace --no-feature kprobe_multi -e "kprobe:vfs_mkdir+$((offset)) { @[comm, reg(\"$PC\") - kaddr(\"vfs_mkdir\")] = count(); }
	interval:s:60 { exit(); }"
wait_for 90 probed 1 vfs_mkdir
ours 1 ' k +vfs_mkdir\+'
for n in {1..10}; do mkdir m$n; done
stop
[ "$(grep -c "@\[mkdir, $((offset))\]: 10" out)" = 1 ] || cat out
echo found
nobody .
