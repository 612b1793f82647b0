# SPDX-License-Identifier: GPL-2.0
# limit: 200
# Hundreds of functions at once, one kprobe each; all go when it ends.
clock attach
start bpftrace --no-feature kprobe_multi -e "kprobe:${SYSCALL}_* { @[probe] = count(); }"
wait_for 150 grep -q Attached err out
clock_tells
at_least 300 " k +${SYSCALL}_"
grep -c " ${SYSCALL}_" $LIST
clock detach
stop
wait_for 60 nobody .
clock_tells
grep -c "^@.*${SYSCALL}_chdir\]" out || :
