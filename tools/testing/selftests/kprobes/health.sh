# SPDX-License-Identifier: GPL-2.0
# What the kernel's own checkers have to say at the end, as far as there are any.

suite health
if [ -e $DEBUG/kmemleak ]; then
	check kmemleak kmemleak_clean
fi
if [ -e /proc/sys/kernel/tainted ]; then
	check no_taint_by_warning sh -c \
		't=$(cat /proc/sys/kernel/tainted); [ $((t & 512)) = 0 ] && [ $((t & 128)) = 0 ]'
fi
if [ -e /proc/lockdep_stats ]; then
	check lockdep_still_on sh -c "grep -q 'debug_locks: *1' /proc/lockdep_stats"
fi
no_writable_code() {
	echo 'p:health/copy vfs_read' >$TRACING/kprobe_events &&
		echo 1 >$TRACING/events/health/enable && ! grep -i 'RW x' $TABLES
}
TABLES=$DEBUG/kernel_page_tables
if [ -e $TABLES ]; then
	check no_writable_code no_writable_code
	echo 0 >$TRACING/events/health/enable && echo >$TRACING/kprobe_events
fi
plan
