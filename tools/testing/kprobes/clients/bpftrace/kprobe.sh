# SPDX-License-Identifier: GPL-2.0
# One kprobe each (--no-feature kprobe_multi): calls and who made them.
start bpftrace --no-feature kprobe_multi -e 'kprobe:set_fs_pwd { @[comm] = count(); }
	interval:s:60 { exit(); }'
wait_for 90 probed 1 set_fs_pwd
ours 1 ' k +set_fs_pwd\+'
for n in {1..100}; do cd /tmp/case; done
stop
grep '@\[bash\]' out
nobody .
