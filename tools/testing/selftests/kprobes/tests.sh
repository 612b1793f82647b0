# SPDX-License-Identifier: GPL-2.0
# Upstream's samples and ours, and clauses, over either implementation.

suite samples

# touch_it: what the samples probe is kernel_clone, so start some processes.
touch_it() {
	for i in 1 2 3; do
		(:)
		sh -c :
	done
}

# tried MARK LINES PATTERN ACTION MODULE [PARAMETER...]: the module is there while
# that is done, with so many such lines in the list, none of which it leaves.
tried() {
	mark "$1"
	lines=$2
	pattern=$3
	action=$4
	shift 4
	load "$@" || return 1
	if [ "$(listed "$pattern" | wc -l)" != "$lines" ]; then
		cat $KPROBES/list
		rmmod "$1"
		return 1
	fi
	$action
	rmmod "$1" && not_listed "${pattern%%\\+*}"
}

# shown MARK PATTERN...: since then the log has each; else what it has of us.
shown() {
	from=$1
	shift
	for pattern; do
		since "$from" "$pattern" >/dev/null && continue
		echo "nothing like '$pattern' in the log:"
		since "$from" "probe[a-z_]*: "
		return 1
	done
}

# probe_sample MODULE PATTERN PARAMETER: loads, fires, lists and unloads.
probe_sample() {
	tried "$1" 1 kernel_clone touch_it "$1" "$3" && shown "$1" "$2"
}

check kprobe_example probe_sample kprobe_example \
	"handler_pre: <kernel_clone>" symbol=kernel_clone
check kretprobe_example probe_sample kretprobe_example \
	"kernel_clone returned [0-9]+ and took" func=kernel_clone

# The sample of many probes: disabled, then armed, then every hit accounted for.
arm_batch() {
	touch_it
	echo 1 >/sys/module/kprobe_batch_example/parameters/armed
	touch_it
}

batch_sample() {
	tried batch 3 '(kernel_clone|vfs_read|called_by_handlers)\+.*\[DISABLED\]' \
		arm_batch kprobe_batch_example symbols=kernel_clone,vfs_read ||
		return 1
	# C counts without atomics: it may lose some.
	exact='([0-9]+)'
	[ "$IMPL" = c ] || exact='\1'
	shown batch "kernel_clone: [1-9][0-9]* hits" \
		"made ([1-9][0-9]*) calls to a probed function, $exact missed"
}

check kprobe_batch_example batch_sample

# The sample of a jprobe, with a handler of either form: each task that is made
# is shown once, and made all the same.
jprobe_sample() {
	# Behind the mark for indirect branches, where there are such.
	tried "jprobe $1" 1 '  j  kernel_clone\+0x[04]' touch_it jprobe_example \
		"old=$2" || return 1
	calls=$(since "jprobe $1" "kernel_clone\($1\): flags = 0x" | wc -l)
	shown "jprobe $1" "it was called $calls times, and missed 0\$" || return 1
	# Whoever makes a task by fork() wants a signal when it ends: SIGCHLD.
	forks=$(since "jprobe $1" "exit_signal = 17, a task\$" | wc -l)
	[ "$forks" -ge 6 ] ||
		wrong "only $forks calls of $calls are shown as what they are" ||
		return 1
	# If that comes back, the handler returns, and all the rest is the same.
	! since "jprobe $1" "jprobe_return\(\) is called outside"
}

if [ "$IMPL" = rust ]; then
	check jprobe_example jprobe_sample returns 0
	check jprobe_example_of_old jprobe_sample jprobe_return 1
fi
# The samples in Rust, of the safe interface.

# rust_entry_sample: shows each task's exit, with its code.
end_tasks() {
	touch_it
	sh -c 'exit 3'
}

rust_entry_sample() {
	tried rust_kprobe 1 '  k  do_exit\+0x' end_tasks rust_kprobe || return 1
	exits=$(since rust_kprobe 'rust_kprobe: do_exit\(0x[0-9a-f]+\)$' | wc -l)
	shown rust_kprobe 'rust_kprobe: do_exit\(0x300\)$' \
		"rust_kprobe: $exits tasks have exited, 0 were missed" || return 1
	[ "$exits" -ge 7 ] || wrong "only $exits exits are shown"
}

# rust_typed_sample: shows each call, with all arguments. The file system has no
# such room; the function is called all the same.
make_room() {
	fallocate -l 4660 /room 2>/dev/null
	fallocate -o 8589934592 -l 22136 /room 2>/dev/null
	rm -f /room
}

rust_typed_sample() {
	tried rust_kprobe_typed 1 '  k  vfs_fallocate\+0x' make_room \
		rust_kprobe_typed || return 1
	said='rust_kprobe_typed: vfs_fallocate\(mode 0, offset'
	shown rust_kprobe_typed "$said 0x0, len 0x1234\)\$" \
		"$said 0x200000000, len 0x5678\)\$" \
		'rust_kprobe_typed: 2 calls, 0 were missed$'
}

# rust_open_sample: shows which files are opened, and how; names as long as a
# handler has room for, and longer.
LONG=/tmp/$(printf '%058d' 0)
open_files() {
	cat /tmp/is-not-there 2>/dev/null
	: >/tmp/is-made
	cat "$LONG" "${LONG}1" 2>/dev/null
	rm /tmp/is-made
}

rust_open_sample() {
	tried rust_kprobe_open 1 '  k  do_sys_openat2\+0x' open_files \
		rust_kprobe_open || return 1
	# To write, to be made, and to be empty then; machines differ in what is above.
	said='rust_kprobe_open: open of /tmp/is'
	shown rust_kprobe_open "$said-not-there, flags 0o[0-7]*000, mode 0o0\$" \
		"$said-made, flags 0o[0-7]*1101, mode 0o666\$" \
		'rust_kprobe_open: [1-9][0-9]* opens, 0 were missed$' || return 1
	[ "$(since rust_kprobe_open "open of $LONG, " | wc -l)" = 2 ] ||
		wrong "$(since rust_kprobe_open "open of /tmp/0")"
}

# rust_return_sample: the calls in its histogram are those that there were.
rust_return_sample() {
	tried rust_kretprobe 1 '  r  kernel_clone\+0x' touch_it rust_kretprobe &&
		shown rust_kretprobe "rust_kretprobe: 0 calls have failed, 0 were missed" ||
		return 1
	calls=0
	for count in $(since rust_kretprobe 'ns and more: ' | sed 's/.*more: //'); do
		calls=$((calls + count))
	done
	[ $calls -ge 6 ] || wrong "only $calls calls are shown"
}

# rust_batch_sample ARMED HITS: its functions were called HITS (a pattern) times.
rust_batch_sample() {
	tried "rust_kprobe_batch $1" 4 \
		'  k  (kernel_clone|do_exit|vfs_read|vfs_write)\+0x' touch_it \
		rust_kprobe_batch "armed=$1" || return 1
	for name in kernel_clone do_exit vfs_read vfs_write; do
		shown "rust_kprobe_batch $1" \
			"rust_kprobe_batch: \"$name\": (called by ftrace|a jump|a breakpoint)" \
			"rust_kprobe_batch: \"$name\": $2 hits, [0-9]+ missed" ||
			return 1
	done
}

# rust_forgets: what a module has forgotten goes with it.
rust_forgets() {
	tried "$1" 5 '  [kr]  (kernel_clone|vfs_read|vfs_write)\+0x' touch_it \
		kprobes_forgets || return 1
	shown "$1" 'kprobes_forgets: goes after [1-9][0-9]* hits' || return 1
	warned=$(since "$1" 'kprobes_forgets has left a probe on [a-z_]+\+0x[0-9a-f]+/.* behind' |
		wc -l)
	[ "$warned" = 5 ] || wrong "$warned warnings when it went" || return 1
	touch_it
}

# rust_of_module: a function of another module is found by each way to say where;
# when it has gone, a client is told so.
rust_of_module() {
	mark of-module
	load kprobes_target || return 1
	load kprobes_of_module || {
		rmmod kprobes_target
		return 1
	}
	echo 3 >/sys/module/kprobes_target/parameters/call
	rmmod kprobes_target
	rmmod kprobes_of_module
	gone='the probed text has been freed: unregister the probe \(-22\)'
	for how in both one attribute; do
		shown of-module "kprobes_of_module: $how: 3 calls, $gone" || return 1
	done
	not_listed kprobes_target_untraced
}

# fault_tries NAME: tries six times to remove a directory; says of each what became of it.
fault_tries() {
	for try in 1 2 3 4 5 6; do
		rmdir $RAMFS/$1 2>/dev/null && printf gone, || printf there,
		mkdir -p $RAMFS/$1
	done
}

# rust_fault_sample: each second removal of a directory fails.
RAMFS=/tmp/ramfs
with_fault() {
	tries=$(fault_tries way)
}

rust_fault_sample() {
	mkdir -p $RAMFS
	mount -t ramfs none $RAMFS || return 1
	mkdir $RAMFS/way
	tried rust_kprobe_fault 1 '  k  [a-z0-9_]*sys_rmdir\+0x' with_fault \
		rust_kprobe_fault || return 1
	after=$(fault_tries way)
	rm -r $RAMFS/way
	umount $RAMFS
	[ $tries = gone,there,gone,there,gone,there, ] ||
		wrong "with the module: $tries" || return 1
	[ $after = gone,gone,gone,gone,gone,gone, ] ||
		wrong "without it: $after" || return 1
	shown rust_kprobe_fault 'rust_kprobe_fault: 3 of 6 calls have failed'
}

# rust_fault_refused: 0 is no number of calls.
rust_fault_refused() {
	mark "fault refused"
	! load rust_kprobe_fault every=0 2>/dev/null || return 1
	since "fault refused" 'rust_kprobe_fault: every=0: give how many'
}

check rust_kprobe rust_entry_sample
check rust_kprobe_typed rust_typed_sample
check rust_kprobe_open rust_open_sample
check rust_kretprobe rust_return_sample
check rust_kprobe_batch rust_batch_sample 1 '[1-9][0-9]*'
check rust_kprobe_batch_disabled rust_batch_sample 0 0
check rust_kprobe_fault rust_fault_sample
check rust_kprobe_fault_refused rust_fault_refused
check rust_forgotten_probes_go_with_their_module rust_forgets forgets
check rust_forgotten_again rust_forgets forgets-again
check rust_probes_of_another_module rust_of_module
check rust_minimal_loads load rust_minimal
check rust_minimal_unloads rmmod rust_minimal
plan

# Allocations that may wait are to fail, too, once a case says that one fails.
for which in failslab fail_page_alloc; do
	[ -d $DEBUG/$which ] || continue
	echo N >$DEBUG/$which/ignore-gfp-wait
	echo 0 >$DEBUG/$which/verbose
done
[ ! -d $DEBUG/fail_page_alloc ] || echo 0 >$DEBUG/fail_page_alloc/min-order

# The module is a KUnit suite: loading it prints the results.
load kprobes_clauses || fail clauses "kprobes_clauses.ko does not load"

# Probes at all places that the cases of jumps have.
PLACES=/sys/module/kprobes_clauses/parameters/places

# place NAME: is it a breakpoint, a jump, or neither?
place() {
	sed -n "s/^$1 //p" $PLACES
}

is_place() {
	[ "$(place "$1")" = "$2" ] || wrong "$1 is: $(place "$1")"
}

# marked: how many of the places the list says to be optimized.
marked() {
	listed "  optimize_.*  kprobes_clauses \[OPTIMIZED\]\$" | wc -l
}

# written: how many are jumps in the text.
written() {
	grep -c " jump\$" $PLACES
}

# jumps_are TEST: the list marks those that are jumps, whose number is -gt 0, or
# -eq 0.
jumps_are() {
	test "$(written)" "$1" 0 && [ "$(written)" = "$(marked)" ] && return 0
	show <$PLACES
	show <$KPROBES/list
	wrong "$(written) jumps, $(marked) in the list"
}

# reason NAME: what the file has for a place.
reason() {
	sed -n "s/^optimize_$1+0x[0-9a-f]*\/0x[0-9a-f]* \[kprobes_clauses\]  //p" \
		$KPROBES/unoptimized
}

# as_said NAME WHY: that is the reason for a place, and no other.
as_said() {
	said=$(reason "$1")
	# The address that is in the way, where there is one.
	[ "${said%%: optimize_*}" = "$2" ] || wrong "$1: $said"
}

each_reason() {
	# Whether there may be jump tables in this kernel, or computed gotos.
	if [ "$(place indirect_jump)" = breakpoint ]; then
		anywhere="which may lead anywhere in it: build the kernel with IBT"
		as_said indirect_jump \
			"the function has an indirect jump, $anywhere" || return 1
	fi
	as_said near_end "too near the end of the function" &&
		as_said into "a branch leads into the bytes of the jump" &&
		as_said fault_inside "an instruction is expected to fault" &&
		as_said fixup_inside "an exception fixup leads into the bytes of the jump" &&
		as_said label "a jump label changes the text" &&
		as_said indirect_call \
			"an indirect call would return into the detour, or the jump" &&
		as_said loop "an instruction is a loop, which reaches no further than 127 bytes" &&
		as_said landing_pad "an instruction is a landing pad of indirect branches"
}

# What cannot be probed itself has its own reason for that.
reason_of_another() {
	reason ud2 | grep ".: optimize_ud2+" || wrong "$(reason ud2)"
}

nothing_is_armed() {
	jumps_are -eq && ! grep " breakpoint\$" $PLACES
}

# The names of the switch are names of one value, with the same bounds.
each_name() {
	for name in kprobes_optimization kprobes-optimization; do
		for value in 0 1; do
			sysctl -w debug.$name=$value || return
			[ "$(sysctl -n debug.kprobes-optimization)" = $value ] &&
				[ "$(sysctl -n debug.kprobes_optimization)" = $value ] ||
				return
		done
		! echo 2 >/proc/sys/debug/$name || return
	done
}

if [ -e $PLACES ] && [ -e $JUMPS ]; then
	suite clauses_jumps
	echo register >$PLACES
	check O1_plain_place_becomes_a_jump comes_true is_place plain jump
	check U5_mode test "$(stat -c %a $JUMPS)" = 644
	check U2_jumps_are_marked jumps_are -gt
	# C has no such file.
	if [ "$IMPL" = rust ]; then
		check O5_reasons_are_told each_reason
		check O5_reason_of_what_cannot_be_probed reason_of_another
		check O5_a_jump_needs_no_reason as_said plain ""
	fi
	mark jumps-off
	check O4_switch_off sh -c "echo 0 >$JUMPS"
	check O4_off_leaves_no_jump jumps_are -eq
	check O4_off_is_said since jumps-off "kprobe jump-optimization is disabled"
	if [ "$IMPL" = rust ]; then
		check O4_off_is_a_reason \
			as_said plain "debug.kprobes-optimization is 0"
	fi
	mark jumps-on
	check O4_switch_on sh -c "echo 1 >$JUMPS"
	check O4_on_brings_jumps_back comes_true is_place plain jump
	check O4_on_is_said since jumps-on "kprobe jump-optimization is enabled"
	[ "$IMPL" = c ] || check U5_each_name each_name
	check O3_all_are_disarmed sh -c "echo 0 >$KPROBES/enabled"
	check O3_disarmed_leaves_no_jump nothing_is_armed
	check O3_all_are_armed sh -c "echo 1 >$KPROBES/enabled"
	check O3_armed_brings_jumps_back comes_true is_place plain jump
	echo unregister >$PLACES
	settled
	plan
fi

# bad_place PLACE ERRNO WHY: a probe there is refused, and the file says why.
bad_place() {
	! echo "$1" 2>/dev/null >/sys/module/kprobes_clauses/parameters/try ||
		wrong "not refused" || return 1
	tail -n 1 $KPROBES/refused | grep -q "  $2  $3" ||
		wrong "$(tail -n 1 $KPROBES/refused)"
}

# no_memory: the file says so when a registration lacks memory. Opening the parameter
# allocates as well, so it is not known which allocation is to fail.
no_memory() {
	bad_place no_such_function -2 "the symbol is in neither" || return 1
	for nth in $(seq 100); do
		echo "$nth" >/proc/self/fail-nth
		echo clauses_move 2>/dev/null >/sys/module/kprobes_clauses/parameters/try
		echo 0 2>/dev/null >/proc/self/fail-nth
		tail -n 1 $KPROBES/refused | grep -q "  -12  no memory is left: " && return 0
	done
	wrong "$(tail -n 1 $KPROBES/refused)"
}

if [ "$IMPL" = rust ] && [ -e $KPROBES/refused ]; then
	suite clauses_reasons
	[ ! -d $DEBUG/failslab ] || check R9_no_memory no_memory
	check R1_10_trampoline bad_place arch_rethook_trampoline -22 \
		"the function belongs to the handling of probes or traps"
	! grep -q ' rust_kprobes_detour$' /proc/kallsyms ||
		check R1_10_detour bad_place rust_kprobes_detour -22 \
			"the function belongs to the handling of probes or traps"
	check R1_3_slot bad_place \
		"$(sed -n 's/ t kprobe_insn_page.*//p;T;q' /proc/kallsyms)" \
		-2 "no symbol covers the address"
	bad_places
	plan
fi

suite clauses_left
check U2_no_probe_is_left not_listed "clauses|kernel_restart"

WATCHER=/sys/module/kprobes_watcher/parameters

# stores: for how many return probes there is anything in store. C does not say.
stores() {
	sed -n "s/^return_pools //p" $KPROBES/counters 2>/dev/null
}

stores_are() {
	[ "$(stores)" = "$1" ]
}

# left_behind PROBES [PARAMETER]: programs sleep in a call that so many probes
# watch. The module goes with its handlers, and all of the programs come back.
left_behind() {
	before=$(stores)
	load kprobes_watcher symbol=hrtimer_nanosleep $2 || return 1
	asleep=
	for one in 1 2 3 4 5 6 7 8; do
		sleep 10 &
		asleep="$asleep $!"
	done
	# Nothing else here may sleep until they do.
	for moment in $(seq 200); do
		[ "$(cat $WATCHER/begun)" != 8 ] || break
	done
	rmmod kprobes_watcher || return 1
	if [ "$before" ]; then
		comes_true stores_are $((before + $1)) || return 1
	fi
	for one in $asleep; do
		wait "$one" || wrong "one came back with $?" || return 1
	done
	[ -z "$before" ] || comes_true stores_are "$before"
}

# forgotten: the module has unregistered none of the two, which was told.
forgotten() {
	mark forgotten
	left_behind 2 forgets=1 || return 1
	goes="module kprobes_watcher is unloaded while its probe at hrtimer_nanosleep"
	said=$(since forgotten "$goes\+$ENTRY/" | wc -l)
	[ "$said" = 2 ] || wrong "$said warnings" || return 1
	since forgotten "watcher: 8 begun, 0 over, 0 missed" >/dev/null &&
		not_listed hrtimer_nanosleep
}
if [ -e /modules/kprobes_watcher.ko ]; then
	mark left-behind
	check K6_calls_are_left_behind left_behind 1
	check K6_their_ends_are_not_told since left-behind \
		"watcher: 8 begun, 0 over, 0 missed"
	if [ "$IMPL" = rust ]; then
		check R10_forgotten_return_probes_go forgotten
	else
		skip R10_forgotten_return_probes_go \
			"C leaves the handlers in freed text"
	fi
fi
plan

# Returns are hooked by the function graph tracer as well, and it traces
# handlers, too: most suites of return probes and jprobes run once more while it
# is on. What KUnit says of that is kept off the console, as all has been said.
LEVELS=/sys/module/printk/parameters/ignore_loglevel

graph_traced() {
	of=$DEBUG/kunit/$1
	echo ':mod:kprobes_clauses' >$TRACING/set_ftrace_filter &&
		echo function_graph >$TRACING/current_tracer || return 1
	echo N >$LEVELS
	dmesg -n 6
	echo 1 >"$of/run"
	# Who reads that has waited until all is printed that was to be.
	cat /proc/consoles >/dev/null
	echo Y >$LEVELS
	traced=$(grep -c '();$\|() {$' $TRACING/trace)
	echo nop >$TRACING/current_tracer
	echo >$TRACING/set_ftrace_filter
	ok=$(grep -c '^ *ok' "$of/results")
	if [ "$ok" = 0 ] || [ "$traced" = 0 ] || grep -q 'not ok' "$of/results"; then
		wrong "$traced calls traced; $ok passed; $(
			sed -n 's/^ *not ok [0-9]* //p; s/^ *# //p' "$of/results" |
				tr '\n' ';'
		)"
	fi
}
if grep -q function_graph $TRACING/available_tracers; then
	suite graph
	for one in returns_register returns_batch returns_calls returns_ways \
		returns_unwind jprobe jprobe_tasks; do
		# C has no jprobes.
		[ ! -d "$DEBUG/kunit/clauses_$one" ] ||
			check $one graph_traced clauses_$one
	done
	plan
fi
settled
rmmod kprobes_clauses
