# SPDX-License-Identifier: GPL-2.0
# Arguments of a function and of the kernel's types, as BTF tells them.
start bpftrace --no-feature kprobe_multi -e 'kprobe:vfs_mkdir {
	@[str(((struct dentry *)arg2)->d_name.name), arg3] = count(); }
	interval:s:60 { exit(); }'
wait_for 90 probed 1 vfs_mkdir
ours 1 ' k +vfs_mkdir\+'
mkdir -m 700 some other
stop
grep '^@' out | sort
