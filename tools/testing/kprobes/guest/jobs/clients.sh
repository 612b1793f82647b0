# SPDX-License-Identifier: GPL-2.0
# Upstream's own tests of those who use kprobes: what ftracetest says of each, and
# the end of its log, which has the reason.

# One of them wants the files of kprobes beside those of tracing. ftracetest takes
# the first tracefs that is mounted.
umount /sys/kernel/tracing
mkdir -p /tmp/beside/tracing
ln -s $KPROBES /tmp/beside/kprobes
mount -t tracefs tracefs /tmp/beside/tracing

# result NUMBER LINE: what ftracetest has said of a test, and the end of its log.
result() {
	log=$(echo /tmp/clients/"$1"-*-log.*)
	test=$(sed -n 's,^execute.*/test\.d/\(.*\)\.tc$,\1,p; q' "$log")
	say "client: $test"
	tail -n 15 "$log" | cut -c1-300 | show
	say "verdict: $2"
	say "client: end"
}

sh /ftrace/ftracetest --keep --logdir /tmp/clients 2>&1 </dev/null |
	while IFS= read -r line; do
		case $line in
		"["[0-9]*)
			number=${line#?}
			result "${number%%]*}" "$line"
			;;
		*)
			say "| $line"
			;;
		esac
	done
