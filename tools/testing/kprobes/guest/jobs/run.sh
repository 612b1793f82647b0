# SPDX-License-Identifier: GPL-2.0
# What `make run` shows: probes firing, the list, the switches, and refusals.

section() {
	say "== $*"
}

try() {
	say "$ $*"
	sh -c "$*" 2>&1 | show
}

touch_it() {
	for i in 1 2; do
		sh -c :
	done
}

section "a probe from a module"
mark probe
say "$ insmod kprobe_example.ko symbol=kernel_clone"
load kprobe_example symbol=kernel_clone
touch_it
section "what is probed now"
try cat $KPROBES/list
say "$ rmmod kprobe_example"
rmmod kprobe_example

section "many probes from a module, registered at once"
B=kprobe_batch_example
say "$ insmod $B.ko symbols=kernel_clone,vfs_read,vfs_write peek=1"
load $B symbols=kernel_clone,vfs_read,vfs_write peek=1
try cat $KPROBES/list
try "echo 1 >/sys/module/$B/parameters/armed"
try cat $KPROBES/list
touch_it
cat /proc/version >/tmp/version
say "$ rmmod $B"
rmmod $B

section "a return probe from a module"
say "$ insmod kretprobe_example.ko func=kernel_clone"
load kretprobe_example func=kernel_clone
touch_it
try cat $KPROBES/list
[ ! -e $KPROBES/counters ] || try "grep return_ $KPROBES/counters"
say "$ rmmod kretprobe_example"
rmmod kretprobe_example

if [ "$IMPL" = rust ]; then
	section "a jprobe from a module: a handler in the place of a function"
	say "$ insmod jprobe_example.ko"
	load jprobe_example
	touch_it
	try cat $KPROBES/list
	say "$ rmmod jprobe_example"
	rmmod jprobe_example
	say "$ insmod jprobe_example.ko old=1"
	load jprobe_example old=1
	touch_it
	say "$ rmmod jprobe_example"
	rmmod jprobe_example
fi

cd /sys/kernel/tracing
if [ "$IMPL" = rust ]; then
	section "a jump in the place of a breakpoint"
	# Behind the call of ftrace, the first place that can be one.
	for n in $(seq 5 60); do
		echo "p:inside vfs_read+$n" >kprobe_events || continue
		echo 1 >events/kprobes/inside/enable
		! grep -q "vfs_read+.*\[OPTIMIZED\]" $KPROBES/list || break
		echo 0 >events/kprobes/inside/enable
	done 2>/dev/null
	echo 0 >events/kprobes/inside/enable
	echo >kprobe_events
	try "echo 'p:inside vfs_read+$n' >kprobe_events"
	try "echo 1 >events/kprobes/inside/enable"
	try cat $KPROBES/list
	try "echo 0 >/proc/sys/debug/kprobes-optimization"
	try cat $KPROBES/list
	try cat $KPROBES/unoptimized
	try "echo 1 >/proc/sys/debug/kprobes-optimization"
	try cat $KPROBES/list
	# Until then the jump may not have been written.
	sleep 2
	try cat kprobe_profile
	cat /proc/version >/dev/null
	try cat kprobe_profile
	echo 0 >events/kprobes/inside/enable
	echo >kprobe_events
fi

section "a probe from the command line"
try "echo 'p:first vfs_read count=$ARG3' >kprobe_events"
try "echo 'r:last vfs_read ret=\$retval' >>kprobe_events"
try "echo 1 >events/kprobes/enable"
cat /proc/version >/dev/null
sleep 1
try cat $KPROBES/list
section "the switches"
if [ -e /proc/sys/debug/kprobes-optimization ]; then
	try "echo 0 >/proc/sys/debug/kprobes-optimization"
	try cat $KPROBES/list
	try "echo 1 >/proc/sys/debug/kprobes-optimization"
fi
try "echo 0 >$KPROBES/enabled"
try cat $KPROBES/enabled
try "echo 1 >$KPROBES/enabled"
try cat $KPROBES/enabled
echo 0 >events/kprobes/enable
try "grep -E 'first:|last:' trace | head -n 4"
echo >kprobe_events
section "functions nobody may probe"
try "wc -l <$KPROBES/blacklist"
try "grep notify_die $KPROBES/blacklist"
cd /
if [ -e $KPROBES/refused ]; then
	section "what was refused, and why"
	say "$ insmod kprobe_example.ko symbol=exc_int3"
	load kprobe_example symbol=exc_int3 2>&1 | show
	try cat $KPROBES/refused
fi
