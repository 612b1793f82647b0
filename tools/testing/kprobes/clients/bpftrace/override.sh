# SPDX-License-Identifier: GPL-2.0
# A BPF program that gives a function's answer in its place.
start bpftrace --unsafe --no-feature kprobe_multi -e \
	'kprobe:__x64_sys_rmdir /comm == "rmdir"/ { override((uint64)-16); }'
wait_for 90 armed 1 __x64_sys_rmdir
ours 1 __x64_sys_rmdir
mkdir a
rmdir a 2>&1 || echo "status $?"
stop
rmdir a
nobody .
