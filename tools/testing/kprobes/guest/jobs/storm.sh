# SPDX-License-Identifier: GPL-2.0
# A storm of probes on all CPUs: storm/ hits and registers; from here CPUs go
# and come, modules with probes on them too, the list is read, and in the
# second half the switch is turned. STORM_SECONDS in all.

STORM=/sys/module/kprobes_storm/parameters
PROBER=/sys/module/kprobes_prober/parameters

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
	rmmod kprobes_target || return 1
	for probe in untraced function; do
		echo unregister >$PROBER/$probe || return 1
	done
	sleep 0.1
}

files_are_read() {
	cat $KPROBES/list $KPROBES/enabled /proc/kallsyms >/dev/null
	cat $KPROBES/blacklist >/dev/null
	sleep 0.5
}

switch_is_turned() {
	echo 0 >$KPROBES/enabled
	sleep 0.1
	echo 1 >$KPROBES/enabled
	sleep 0.3
}

# rage KIND COMMAND...: half of the storm, with COMMANDs meanwhile.
rage() {
	kind=$1
	shift
	: >/tmp/raging
	for command in "$@"; do
		while_raging "$command"
	done
	# In pieces, so that there is a word now and then.
	left=$((STORM_SECONDS / 2))
	status=0
	while [ $left -gt 0 ] && [ $status = 0 ]; do
		piece=$((left > 30 ? 30 : left))
		echo $piece >$STORM/"$kind" || status=1
		counts=$(tr '\n' ',' <$STORM/counts)
		say "# $kind: $counts"
		inside=$((inside + $(sed -n 's/^inside //p' $STORM/counts)))
		ticks=$((ticks + $(sed -n 's/^ticks //p' $STORM/counts)))
		left=$((left - piece))
	done
	rm /tmp/raging
	wait
	return $status
}

empty() {
	[ ! -s $KPROBES/list ] && return 0
	show <$KPROBES/list
	return 1
}

# Tests of what is left over see the state before.
inside=0
ticks=0
suite storm
load kprobes_prober
load kprobes_storm
[ -z "$STORM_TICK" ] || echo "$STORM_TICK" >$STORM/tick_us
say "# the storm begins"
rage anchored cpus_go_and_come modules_go_and_come files_are_read
check no_hit_is_lost [ $? = 0 ]
rage loose cpus_go_and_come modules_go_and_come files_are_read switch_is_turned
check nothing_is_called_late [ $? = 0 ]
say "# the storm is over"
say "# $ticks interrupts, $inside of them in copies of instructions"
check interrupts_in_copies [ $inside -gt 0 ]
check list_is_empty empty
check unload sh -c "rmmod kprobes_storm && rmmod kprobes_prober"
if [ -e $DEBUG/kmemleak ]; then
	check kmemleak kmemleak_clean
fi
if [ -e /proc/lockdep_stats ]; then
	check lockdep_still_on grep -q 'debug_locks: *1' /proc/lockdep_stats
fi
plan
