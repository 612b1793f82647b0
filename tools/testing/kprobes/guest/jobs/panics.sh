# SPDX-License-Identifier: GPL-2.0
# A task that panics while it registers a probe, and what comes after: alone in
# its own boot.
load kprobes_panics
not_listed do_exit && say "panics: nothing of it is registered"
listed vfs_fsync && say "panics: what was there stays"
say "panics: another is registered"
echo 'p:another do_exit' >$TRACING/kprobe_events
echo 1 >$TRACING/events/kprobes/another/enable
listed do_exit && echo 0 >$TRACING/events/kprobes/another/enable
echo >$TRACING/kprobe_events
not_listed do_exit && say "panics: and goes"
