# SPDX-License-Identifier: GPL-2.0
# A BPF program that gives a function's answer in its place.
start bpftrace --unsafe --no-feature kprobe_multi -e \
	"kprobe:${SYSCALL}_rmdir /comm == \"rmdir\"/ { override((uint64)-16); }"
wait_for 90 armed 1 ${SYSCALL}_rmdir
ours 1 ${SYSCALL}_rmdir
mkdir a
rmdir a 2>&1 || echo "status $?"
stop
rmdir a
nobody .
