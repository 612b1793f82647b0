# SPDX-License-Identifier: GPL-2.0
# Functions that do what a client must not do; the console shows what the kernel says.
# CRASHES names those to try, in order; after the last the guest need not go on.

handler_that_may_sleep() {
	load kprobes_sleeps
	for i in 1 2 3; do
		(:)
	done
	rmmod kprobes_sleeps
}

# Tasks that have to die, and what comes after.
H9_no_fixup() {
	load kprobes_crash how=no_fixup && rmmod kprobes_crash
}

H9_no_fixup_in_a_jump() {
	load kprobes_crash how=no_fixup_jump && rmmod kprobes_crash
}

# A task that panics while it registers a probe, and what comes after.
state_that_panics() {
	load kprobes_panics
	not_listed do_exit && say "panics: nothing of it is registered"
	listed vfs_fsync && say "panics: what was there stays"
	say "panics: another is registered"
	echo 'p:another do_exit' >$TRACING/kprobe_events
	echo 1 >$TRACING/events/kprobes/another/enable
	listed do_exit && echo 0 >$TRACING/events/kprobes/another/enable
	echo >$TRACING/kprobe_events
	not_listed do_exit && say "panics: and goes"
}

handler_that_sleeps() {
	load kprobes_crash how=sleeps && rmmod kprobes_crash
}

handler_that_dies() {
	load kprobes_crash how=dies && rmmod kprobes_crash
}

K5_lost_way() {
	trampoline=$(grep ' arch_rethook_trampoline$' /proc/kallsyms)
	load kprobes_crash how=lost_way trampoline="0x${trampoline%% *}" &&
		rmmod kprobes_crash
}

H11_nobodys_breakpoint() {
	load kprobes_crash how=nobodys && rmmod kprobes_crash
}

unwinder() {
	load test_unwind
}

H4_U7_unrecoverable() {
	load kprobes_crash how=unrecoverable
}

for crash in $CRASHES; do
	mark "crash $crash"
	$crash
done
