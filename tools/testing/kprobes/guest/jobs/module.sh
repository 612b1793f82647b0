# SPDX-License-Identifier: GPL-2.0
# What `make module` does while the module is loaded: the calls that its probes
# are to see.
RUN=/run.sh
SAID=/tmp/run.said
LATE=/tmp/run.late
# Behind the last that a run.sh says, which need not be a whole line.
END=$(printf '\001end')

# touch_it: where the folder has no run.sh.
touch_it() {
	for i in 1 2 3; do
		sh -c :
	done
	sleep 1
}

# said_by_it: what a run.sh says, each line marked, as it comes.
said_by_it() {
	while IFS= read -r line; do
		whole=${line%"$END"}
		if [ -n "$whole" ] || [ -z "$line" ]; then
			say "| $whole" ||
				say "| (a line of ${#whole} letters, which the kernel's log does not take)"
		fi
		[ "$whole" = "$line" ] || return 0
	done
}

# run_it SECONDS: a run.sh, for no longer than that, and how it has ended. What
# it has started and left ends with it.
run_it() {
	say "$ sh run.sh"
	mkfifo $SAID
	# Open for both ends at once, and until the end: nobody waits for anybody.
	exec 9<>$SAID
	said_by_it <&9 &
	reader=$!
	# In a session, and so in a group, of its own.
	setsid sh $RUN </dev/null >&9 2>&1 9>&- &
	it=$!
	{
		sleep "$1" >/dev/null 2>&1
		: >$LATE
		# Said before, as there may be something in it that cannot be ended.
		say "run.sh was stopped: it still ran after $1 s"
		kill -KILL "$it"
	} 9>&- &
	watch=$!
	wait "$it"
	status=$?
	{
		kill "$watch"
		kill -KILL "-$it"
	} 2>/dev/null
	echo "$END" >&9
	exec 9>&-
	wait "$reader"
	[ -e $LATE ] || say "run.sh ended with status $status"
}
