# SPDX-License-Identifier: GPL-2.0
# trace-cmd records a probe event of its own making.
echo 'p:ours/cd set_fs_pwd' >$TRACING/kprobe_events
start trace-cmd record -q -o dat -e ours:cd bash -c 'for n in {1..20}; do cd /tmp; done; sleep 2'
wait_for 60 armed 1 set_fs_pwd
ours 1 set_fs_pwd
finished
trace-cmd report -i dat 2>/dev/null | grep -c 'cd: '
echo >$TRACING/kprobe_events
