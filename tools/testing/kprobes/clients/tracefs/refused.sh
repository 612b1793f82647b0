# SPDX-License-Identifier: GPL-2.0
# What a shell is told where no probe can be.
set +x
ask() {
	echo "== $1"
	echo "$1" 2>&1 >>$TRACING/kprobe_events |
		sed 's/.*: line/line/' || :
	tail -n 4 $TRACING/error_log | sed 's/^\[[^]]*\]//'
}
echo 'p:ours/fine set_fs_pwd' >$TRACING/kprobe_events
ours 1 set_fs_pwd
ask 'p:ours/none no_such_function'
ask 'p:ours/middle set_fs_pwd+1'
ask "p:ours/listed $NOPROBE"
ask 'p:ours/listed ftrace_ops_list_func'
ask 'r:ours/inside set_fs_pwd+9'
ask 'p:ours/early start_kernel'
# Ours has a file that says why, of what has come as far as to kprobes: to
# functions that ftrace does not trace, tracefs says no by itself.
if [ "$IMPL" = rust ]; then
	cat "${LIST%/*}/refused" >&2
	grep -q 'set_fs_pwd+0x1/.*no instruction starts' "${LIST%/*}/refused"
fi
echo >$TRACING/kprobe_events
