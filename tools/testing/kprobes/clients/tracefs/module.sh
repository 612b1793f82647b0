# SPDX-License-Identifier: GPL-2.0
# A probe in a module, which goes and comes again: the event waits for it.
state() {
	echo "$1: $(sed -nE 's/^[0-9a-f]+ +//; s/ +/ /gp' $LIST | paste -sd';')"
}
modprobe trace-events-sample
echo 'p:ours/thread trace_events_sample:simple_thread' >$TRACING/kprobe_events
echo 1 >$TRACING/events/ours/thread/enable
ours 1 'simple_thread\+.* trace_events_sample'
state here
modprobe -r trace-events-sample
state gone
modprobe trace-events-sample
state again
# Its thread has begun meanwhile.
wait_for 20 grep -q 'thread: (simple_thread+' $TRACING/trace
echo 0 >$TRACING/events/ours/thread/enable
echo >$TRACING/kprobe_events
modprobe -r trace-events-sample
nobody .
