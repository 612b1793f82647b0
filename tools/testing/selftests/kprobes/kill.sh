# SPDX-License-Identifier: GPL-2.0
# What becomes of probes when ftrace is broken. To come last: from then on no
# probe is called through ftrace any more. After clauses.sh, whose words it has.

if [ -e /modules/kprobes_kill.ko ]; then
	suite ftrace_kill
	load kprobes_prober
	load kprobes_target
	told function register
	told again register
	told untraced register
	check H10_hit_before called again 0 3
	check H10_kill load kprobes_kill \
		at="0x$(sed -n "s/ . kprobe_ftrace_kill\$//p" /proc/kallsyms)"
	check H10_ftrace_calls_nobody called function 3 3
	check H10_nor_another_probe_there called again 3 3
	check H10_breakpoints_are_hit called untraced 9 12
	check H10_nothing_is_disabled listed_as \
		"$ADDRESS  k  kprobes_target_function\\+$ENTRY  kprobes_target \\[FTRACE\\]"
	check H10_disable told again disable
	check H10_disable_the_last_one told function disable
	told function unregister
	told again unregister
	check H10_unregister not_listed kprobes_target_function
	check H10_register_for_nothing told function register
	check H10_registered_for_nothing called function 0 0
	told function unregister
	told untraced unregister
	settled
	check H10_module_goes rmmod kprobes_target
	rmmod kprobes_prober
	rmmod kprobes_kill
	plan
fi
