# SPDX-License-Identifier: GPL-2.0
# limit: 200
# Hundreds of functions at once, one kprobe each; all go when it ends.
clock attach
start bpftrace --no-feature kprobe_multi -e 'kprobe:__x64_sys_* { @[probe] = count(); }'
wait_for 150 grep -q Attached err out
clock_tells
at_least 300 ' k +__x64_sys_'
grep -c ' __x64_sys_' $LIST
clock detach
stop
wait_for 60 nobody .
clock_tells
grep -c '^@.*__x64_sys_chdir\]' out || :
