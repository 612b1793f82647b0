# SPDX-License-Identifier: GPL-2.0
# Upstream's own tests of those who use kprobes, as ftracetest runs them: each is
# a KTAP leaf, with the end of its log where it has not passed.

# One of them wants the files of kprobes beside those of tracing. ftracetest takes
# the first tracefs that is mounted.
umount /sys/kernel/tracing
mkdir -p /tmp/beside/tracing
ln -s $KPROBES /tmp/beside/kprobes
mount -t tracefs tracefs /tmp/beside/tracing

# reason LOG: what a test printed before it gave up, else the step it was in.
reason() {
	awk '/^\+* exit_/ { exit }
		/^\++ : / { sub(/^\++ : /, ""); step = $0; next }
		/^\+/ { said = ""; next }
		/^execute: / { next }
		{ said = said $0 " " }
		END { print said ? said : step ? "at: " step : "no word" }' "$1" |
		sed "s/^[^ ]*' //; s/ *$//" | cut -c1-300
}

# result NUMBER VERDICT: tells how a test has ended.
result() {
	log=$(echo /tmp/clients/"$1"-*-log.*)
	name=$(sed -n 's,^execute.*/test\.d/\(.*\)\.tc$,\1,p; q' "$log" | tr / .)
	case $2 in
	PASS) pass "$name" ;;
	UNRESOLVED | UNSUPPORTED | UNTESTED | XFAIL) skip "$name" "$2: $(reason "$log")" ;;
	*)
		tail -n 15 "$log" | cut -c1-300 | show
		fail "$name" "$2: $(tail -n 4 "$log" | cut -c1-300 | tr '\n' ';')"
		;;
	esac
}

suite clients
set -- /ftrace/test.d/kprobe/*.tc
say "1..$#"
# A verdict other than PASS comes by a signal, and after a trap busybox 1.38's
# `read` never returns: ftracetest stops there, and another one goes on.
while [ $# -gt 0 ]; do
	rm -rf /tmp/clients
	sh /ftrace/ftracetest --keep --logdir /tmp/clients --stop-fail \
		--fail-unsupported --fail-unresolved "$@" 2>&1 </dev/null |
		while IFS= read -r line; do
			say "| $line"
			verdict=${line##*[}
			case $line in
			"["[0-9]*)
				number=${line#?}
				result "${number%%]*}" "${verdict%]}"
				;;
			esac
		done
	ended=$(find /tmp/clients -name '*-log.*' | wc -l)
	[ "$ended" -gt 0 ] || break
	shift "$ended"
done
