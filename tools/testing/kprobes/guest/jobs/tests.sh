# SPDX-License-Identifier: GPL-2.0
# Upstream's samples and the user-visible files, over either implementation.

suite surface
for file in list blacklist enabled; do
	check "U1_${file}_exists" test -f $KPROBES/$file
done
check U3_enabled_reads_1 grep -qx 1 $KPROBES/enabled
plan

suite samples

# touch_it: what the samples probe is kernel_clone, so start some processes.
touch_it() {
	for i in 1 2 3; do
		(:)
		sh -c :
	done
}

# probe_sample MODULE PATTERN: loads, fires, lists and unloads.
probe_sample() {
	mark "$1"
	load "$1" $3 || return 1
	touch_it
	since "$1" "$2" >/dev/null || {
		echo "nothing like '$2' in the log"
		rmmod "$1"
		return 1
	}
	listed kernel_clone >/dev/null || {
		echo "kernel_clone is not in kprobes/list"
		rmmod "$1"
		return 1
	}
	rmmod "$1" || return 1
	not_listed kernel_clone
}

# refused MODULE: the honest answer while return probes are not there, and why.
refused() {
	said=$(load "$1" 2>&1) && {
		echo "it loaded"
		rmmod "$1"
		return 1
	}
	echo "$said" | grep -q "Operation not supported" || {
		echo "$said"
		return 1
	}
	tail -n 1 $KPROBES/refused | grep -q "kernel_clone.*  -95  " || {
		cat $KPROBES/refused
		return 1
	}
	not_listed kernel_clone
}

check kprobe_example probe_sample kprobe_example \
	"handler_pre: <kernel_clone>" symbol=kernel_clone
if [ "$RETURNS" = y ]; then
	check kretprobe_example probe_sample kretprobe_example \
		"kernel_clone returned [0-9]+ and took" func=kernel_clone
else
	check kretprobe_example_is_refused refused kretprobe_example
fi

# The sample of many probes: disabled, then armed, then every hit accounted for.
batch_sample() {
	mark batch
	load kprobe_batch_example symbols=kernel_clone,vfs_read || return 1
	[ "$(listed '(kernel_clone|vfs_read|called_by_handlers)\+.*\[DISABLED\]' |
		wc -l)" = 3 ] || {
		cat $KPROBES/list
		rmmod kprobe_batch_example
		return 1
	}
	touch_it
	echo 1 >/sys/module/kprobe_batch_example/parameters/armed
	touch_it
	rmmod kprobe_batch_example || return 1
	since batch "kernel_clone: [1-9][0-9]* hits" >/dev/null || {
		echo "kernel_clone was not hit"
		return 1
	}
	# C counts without atomics: it may lose some.
	exact='([0-9]+)'
	[ "$IMPL" = c ] || exact='\1'
	since batch "made ([1-9][0-9]*) calls to a probed function, $exact missed" \
		>/dev/null || {
		since batch "made "
		return 1
	}
	not_listed 'kernel_clone|vfs_read|called_by_handlers'
}

check kprobe_batch_example batch_sample
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
suite clauses_left
check U2_no_probe_is_left not_listed "clauses|kernel_restart"
plan
rmmod kprobes_clauses

# Instructions with and without a probe. A jump in place of a breakpoint would
# come at any time, so there are none meanwhile.
if [ -e /modules/kprobes_forms.ko ]; then
	jumps=/proc/sys/debug/kprobes-optimization
	[ ! -e $jumps ] || echo 0 >$jumps
	spare=n
	[ "$IMPL" = rust ] || spare=y
	load kprobes_forms states="$STATES" spare_c=$spare ||
		fail forms "kprobes_forms.ko does not load"
	rmmod kprobes_forms
	[ ! -e $jumps ] || echo 1 >$jumps
fi
