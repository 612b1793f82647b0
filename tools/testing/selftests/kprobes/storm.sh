# SPDX-License-Identifier: GPL-2.0
# A storm of probes on all CPUs: storm/ hits and registers; from here CPUs go
# and come, modules with probes on them too, files are read, and when nothing is
# to be kept the switch is turned. The same for jumps in the place of
# breakpoints, with their own switch: STORM_SECONDS in all. Then tasks sleep.
# STORM_PIECEWISE: interrupts come anywhere, so they must have come everywhere.
# It is so slow that return probes are left out, unless they are asked for, and
# what has little time anyway, as all is turned off again and again.

STORM=/sys/module/kprobes_storm/parameters
PROBER=/sys/module/kprobes_prober/parameters
GROWTH=/proc/sys/debug/kretprobes-growth-limit

# while_raging COMMAND...: again and again, in the background.
while_raging() {
	(
		times=0
		while [ -e /tmp/raging ]; do
			"$@" || say "# $*: failed"
			times=$((times + 1))
		done
		say "# $1: $times times"
	) &
}

cpus_go_and_come() {
	for cpu in 3 1 2; do
		[ -e /sys/devices/system/cpu/cpu$cpu ] || continue
		echo 0 >/sys/devices/system/cpu/cpu$cpu/online || return 1
		sleep 0.2
		echo 1 >/sys/devices/system/cpu/cpu$cpu/online || return 1
		sleep 0.2
	done
}

modules_go_and_come() {
	load kprobes_target || return 1
	for probe in untraced function; do
		echo register >$PROBER/$probe || return 1
	done
	echo 10 >/sys/module/kprobes_target/parameters/call || return 1
	# Whoever makes detours keeps it for a moment.
	rmmod kprobes_target || { sleep 0.2 && rmmod kprobes_target; } ||
		return 1
	for probe in untraced function; do
		echo unregister >$PROBER/$probe || return 1
	done
	sleep 0.1
}

files_are_read() {
	cat $KPROBES/list $KPROBES/enabled /proc/kallsyms >/dev/null
	cat $KPROBES/blacklist >/dev/null
	[ ! -e $KPROBES/unoptimized ] || cat $KPROBES/unoptimized >/dev/null
	sleep 0.5
}

# Locks and the idle loop are hit all the time; on arm RCU does not watch there.
core_is_probed() {
	echo "p:storm/lock _raw_spin_lock_irqsave" >$TRACING/kprobe_events
	# In a shell of its own: this one would write again what was refused.
	(echo "p:storm/idle arch_cpu_idle" >>$TRACING/kprobe_events) 2>/dev/null ||
		echo "p:storm/idle tick_nohz_idle_enter" >>$TRACING/kprobe_events
	echo 1 >$TRACING/events/storm/enable && sleep 0.2
	status=$?
	echo 0 >$TRACING/events/storm/enable
	sleep 0.5
	echo >$TRACING/kprobe_events && return $status
}

switch_is_turned() {
	echo 0 >$KPROBES/enabled
	sleep 0.1
	echo 1 >$KPROBES/enabled
	sleep "${1:-0.3}"
}

# Time for jumps, which take much longer to come on a slow machine.
jumps_may_come() {
	seconds=$(($(cat $STORM/jump_ms) * 4 / 1000))
	sleep $((seconds > 3 ? seconds : 3))
}

switch_is_seldom_turned() {
	switch_is_turned 0
	jumps_may_come
}

jumps_are_switched() {
	[ -e $STORM/jump_ms ] || { sleep 5 && return; }
	echo 0 >$JUMPS
	sleep 0.2
	echo 1 >$JUMPS
	jumps_may_come
}

# Since the kernel began.
seconds_up() {
	cut -d. -f1 /proc/uptime
}

processes_come_and_go() {
	for times in 1 2 3 4 5 6 7 8; do
		(:)
		sh -c :
	done
	sleep 0.1
}

# visit MILLISECONDS: falls asleep in a probed function, if there is one.
visit() {
	echo "$1" >$STORM/returns_visit 2>/dev/null
}

visitors_are_killed() {
	visitors=
	for times in 1 2 3 4 5 6 7 8; do
		visit $((times * times * 100)) &
		visitors="$visitors $!"
	done
	sleep 1
	# Some have left already.
	kill -9 $visitors 2>/dev/null
	wait
	return 0
}

stores_grow_or_not() {
	[ -e $GROWTH ] || { sleep 5 && return; }
	echo 0 >$GROWTH
	sleep 0.5
	echo 4096 >$GROWTH
	sleep 2
}

# rage KIND COUNTS PERCENT COMMAND...: so much of the storm, with COMMANDs
# meanwhile.
rage() {
	kind=$1
	counts=$2
	end=$(($(seconds_up) + STORM_SECONDS * $3 / 100))
	shift 3
	: >/tmp/raging
	for command in "$@"; do
		while_raging "$command"
	done
	# In pieces, so that there is a word now and then. A piece may take longer.
	status=0
	while left=$((end - $(seconds_up))) && [ $left -gt 1 ] && [ $status = 0 ]; do
		echo $((left > 30 ? 30 : left)) >$STORM/"$kind" || status=1
		say "# $kind: $(tr '\n' ',' <$STORM/"$counts")"
		inside=$((inside + $(value inside)))
		ticks=$((ticks + $(value ticks)))
		killed=$((killed + $(value killed)))
	done
	rm /tmp/raging
	wait
	return $status
}

# went_well STATUS: else what the module has said last, and what it has counted.
went_well() {
	[ "$1" = 0 ] && return 0
	dmesg | sed -n 's/^.*kprobes_storm: //p' | tail -n 1
	tr '\n' ',' <$STORM/"$counts"
	return 1
}

# value NAME: of those that were counted last.
value() {
	found=$(sed -n "s/^$1 //p" $STORM/"$counts")
	echo "${found:-0}"
}

# What return probes had in store goes when the last call is over.
is_empty_store() {
	grep -qx "return_pools 0" $KPROBES/counters &&
		grep -qx "return_calls 0" $KPROBES/counters
}

no_store() {
	[ -e $KPROBES/counters ] || return 0
	for times in 1 2 3; do
		comes_true is_empty_store && return 0
	done
	cat $KPROBES/counters
	return 1
}

empty() {
	show <$KPROBES/list
	! grep -q . $KPROBES/list
}

# Where there are no jumps.
breakpoints_rage() {
	rage anchored counts 60 cpus_go_and_come modules_go_and_come files_are_read
	check no_hit_is_lost went_well $?
	rage loose counts 40 cpus_go_and_come modules_go_and_come \
		files_are_read switch_is_turned core_is_probed
	check nothing_is_called_late went_well $?
}

others_rage() {
	rage anchored counts 20 cpus_go_and_come modules_go_and_come files_are_read
	check no_hit_is_lost went_well $?
	rage jumps jump_counts 35 cpus_go_and_come files_are_read jumps_are_switched
	check no_hit_by_a_jump_is_lost went_well $?
	if [ -z "$STORM_PIECEWISE" ]; then
		rage loose counts 20 cpus_go_and_come modules_go_and_come \
			files_are_read switch_is_turned core_is_probed
		check nothing_is_called_late went_well $?
		rage jumps_loose jump_counts 25 cpus_go_and_come \
			modules_go_and_come files_are_read jumps_are_switched \
			switch_is_seldom_turned
		check jumps_come_and_go went_well $?
	else
		check interrupts_at_each_boundary \
			sh -c "echo $((2 * STORM_SECONDS)) >$STORM/boundaries"
		say "# boundaries: $(tr '\n' ',' <$STORM/jump_counts)"
	fi
}

returns_rage() {
	rage returns return_counts "$1" cpus_go_and_come files_are_read \
		processes_come_and_go visitors_are_killed stores_grow_or_not \
		jumps_are_switched
	check no_return_is_lost went_well $?
	rage returns_loose return_counts "$2" cpus_go_and_come \
		modules_go_and_come files_are_read processes_come_and_go \
		visitors_are_killed stores_grow_or_not jumps_are_switched \
		switch_is_turned
	check returns_come_and_go went_well $?
	check the_killed_come_back [ $killed -gt 0 ]
	check no_store_is_left no_store
}

# Tests of what is left over see the state before.
inside=0
ticks=0
killed=0
suite storm
load kprobes_prober
load kprobes_storm
[ -z "$STORM_TICK" ] || echo "$STORM_TICK" >$STORM/tick_us
say "# the storm begins"
if [ -n "$STORM_RETURNS" ]; then
	returns_rage 60 40
else
	if [ -e $STORM/jumps ]; then others_rage; else breakpoints_rage; fi
	[ -n "$STORM_PIECEWISE" ] || returns_rage 30 20
fi
say "# the storm is over"
if [ -z "$STORM_RETURNS" ]; then
	[ ! -e $STORM/sleepers ] ||
		check sleepers_come_back sh -c "echo 1000 >$STORM/sleepers"
	say "# $ticks interrupts, $inside of them in copies of instructions"
	check interrupts_in_copies [ $inside -gt 0 ]
fi
[ ! -e $STORM/returns_steps ] ||
	check callers_at_each_step sh -c "echo 1 >$STORM/returns_steps"
check list_is_empty empty
check unload sh -c "rmmod kprobes_storm && rmmod kprobes_prober"
if [ -e $DEBUG/kmemleak ]; then
	check kmemleak kmemleak_clean
fi
if [ -e /proc/lockdep_stats ]; then
	check lockdep_still_on grep -q 'debug_locks: *1' /proc/lockdep_stats
fi
plan
