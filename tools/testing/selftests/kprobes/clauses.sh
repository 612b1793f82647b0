# SPDX-License-Identifier: GPL-2.0
# Clauses of the behaviour that need modules to come and go, or the files in
# debugfs, over either implementation. A test is named by its clause.

TARGET=/sys/module/kprobes_target/parameters
PROBER=/sys/module/kprobes_prober/parameters

# told PROBE WHAT: register, unregister, enable or disable a probe.
told() {
	echo "$2" >"$PROBER/$1"
}

# refused PROBE WHAT ERROR: that is refused, with this error.
refused_as() {
	! said=$(told "$1" "$2" 2>&1) || wrong "not refused" || return 1
	case $said in
	*"$3"*) ;;
	*) wrong "$said" ;;
	esac
}

# called PROBE BEFORE AFTER: three calls of the target take its hits there.
called() {
	[ "$(cat "$PROBER/$1")" = "$2" ] ||
		wrong "before: $(cat "$PROBER/$1")" || return 1
	echo 3 >$TARGET/call || return 1
	[ "$(cat "$PROBER/$1")" = "$3" ] || wrong "after: $(cat "$PROBER/$1")"
}

says() {
	grep -qE "$1" "$2" || wrong "$2 says: $(cat "$2")"
}

# listed_as PATTERN: a line of the list is just that.
listed_as() {
	grep -qE "^$1\$" $KPROBES/list && return 0
	show <$KPROBES/list
	return 1
}

# How long an address is as text.
read -r address _ </proc/kallsyms
DIGITS=${#address}
ADDRESS="[0-9a-f]{$DIGITS}"
# A line without a symbol: the address again, without the zeros before it.
NAMELESS='0*([1-9a-f][0-9a-f]*)  k  0x\1'
# What C may have made of a breakpoint meanwhile.
MAYBE='(\[OPTIMIZED\])?'

# settled: C's optimizer has nothing left to do. A probed address that it still
# has to do with when the module goes can never be probed again (defect D3).
settled() {
	if [ "$IMPL" = c ] && [ -e $JUMPS ]; then
		echo 0 >$JUMPS && echo 1 >$JUMPS
	fi
}

CROWD=/sys/module/kprobes_crowd/parameters
RECORDS=/tmp/perf_records.txt

# recorded FILE WORD...: what perf is told while these are written, in order.
recorded() {
	cp /modules/perf_records /tmp && chmod 755 /tmp/perf_records &&
		/tmp/perf_records "$@" >/tmp/unsorted &&
		sort -s -n -k 1,1 /tmp/unsorted | cut -d " " -f 2- >$RECORDS
}

# Probes on text for the kernel's beginning, made by the command line.
EARLY=$TRACING/events/early
if [ -d $EARLY ]; then
	suite early
	check U10_ftrace_is_hit_early \
		says "^ +entry +1 +0\$" $TRACING/kprobe_profile
	check U10_breakpoint_is_hit_early \
		says "^ +inside +1 +0\$" $TRACING/kprobe_profile
	GONE="$ADDRESS  k  do_populate_rootfs\\+0x[0-9a-f]+    \\[GONE\\]"
	check R10_init_text_of_ftrace_is_gone listed_as "$GONE\\[FTRACE\\]"
	check R10_init_text_of_a_breakpoint_is_gone listed_as "$GONE$MAYBE"
	# Whatever happens to the probes, nobody writes there any more.
	unwritten() {
		sites=$(sed -n "s/^\\([0-9a-f]*\\)  k  do_populate_rootfs.*/\\1/p" \
			$KPROBES/list)
		recorded $KPROBES/enabled 0 $KPROBES/enabled 1 \
			$EARLY/enable 0 $EARLY/enable 1 $EARLY/enable 0 \
			$TRACING/kprobe_events "-:early/entry" \
			$TRACING/kprobe_events "-:early/inside" || return 1
		[ -n "$sites" ] && ! grep -F "$sites" $RECORDS
	}
	check R10_freed_text_is_not_written unwritten
	check R10_early_probes_are_unregistered not_listed do_populate_rootfs
	plan
fi

suite modules
load kprobes_prober
# Whose module is not there yet: they are tried again when it comes.
LATE="named function"
if [ -e $TRACING/kprobe_events ]; then
	for late in $LATE; do
		echo "p:late/$late kprobes_target:kprobes_target_$late" \
			>>$TRACING/kprobe_events
	done
fi
load kprobes_target
if [ -e $TRACING/kprobe_events ]; then
	check R10_waiting_probe_is_registered \
		listed "kprobes_target_function\\+0x[0-9a-f]+ .*\\[DISABLED\\]"
	check R10_own_blacklist_is_known_first not_listed kprobes_target_named
	for late in $LATE; do
		echo "-:late/$late" >>$TRACING/kprobe_events
	done
fi
check R10_untraced_is_registered told untraced register
check R10_traced_is_registered told function register
check R10_untraced_is_hit called untraced 0 3
check R10_traced_is_hit called function 3 6
check R10_own_blacklist_by_name refused_as named register "Invalid argument"
check R10_own_blacklist_by_section refused_as section register "Invalid argument"
# Where C has only an errno.
if [ "$IMPL" = rust ]; then
	check reasons_are_told says "^kprobes_target_named\+0x[0-9a-f]+/0x[0-9a-f]+ \\[kprobes_target\\]  -22  the function belongs to .*: probe one of its callers\$" \
		$KPROBES/refused
fi
# Not every architecture frees a module's init text.
INIT_STAYS=n
! grep -q " kprobes_target_init_text[^a-z_]" /proc/kallsyms || INIT_STAYS=y
if [ $INIT_STAYS = y ]; then
	check R1_11_init_text_that_stays told init register
	told init unregister
else
	check R1_11_init_text_is_no_more \
		refused_as init register "No such file"
fi

check U2_line_of_a_module listed_as \
	"$ADDRESS  k  kprobes_target_untraced\\+$ENTRY  kprobes_target $MAYBE"
told again register
check U2_each_probe_at_an_address \
	test "$(listed kprobes_target_function | wc -l)" = 2
newest_first() {
	told function disable
	flags=$(listed kprobes_target_function |
		sed "s/.*\[DISABLED\].*/disabled/; t; s/.*/enabled/")
	told function enable
	[ "$flags" = "enabled
disabled" ] || wrong "$flags"
}
check U2_newest_first newest_first
told again unregister
# hidden FILE PATTERN: then there are lines in it, and all begin so.
hidden() {
	echo 2 >/proc/sys/kernel/kptr_restrict
	grep -qE "^$2" $KPROBES/$1 && ! grep -qvE "^$2" $KPROBES/$1
	hides=$?
	echo 0 >/proc/sys/kernel/kptr_restrict
	return $hides
}
check U2_addresses_are_hidden hidden list "0{$DIGITS} "
check S4_pages_of_copies_are_symbols \
	grep -qE "^$ADDRESS t kprobe_insn_page.\\[__builtin__kprobes\\]\$" /proc/kallsyms

told untraced disable
check U2_disabled listed_as \
	"$ADDRESS  k  kprobes_target_untraced\\+$ENTRY  kprobes_target \\[DISABLED\\]$MAYBE"
check R6_disabled_is_not_hit called untraced "6 disabled" "6 disabled"
told untraced enable
check R6_enabled_is_hit called untraced 6 9

# The module goes, and its probes stay registered.
mark going
check R10_probed_module_goes rmmod kprobes_target
check R1_9_going_module_is_not_probed since going "registering says -2$"
[ "$IMPL" = c ] || check R1_9_reason says \
	"  -2  the module is being unloaded: " $KPROBES/refused
check R10_untraced_is_gone says "^9 gone" $PROBER/untraced
check R10_traced_is_gone says "^1[0-9] gone" $PROBER/function
check U2_gone listed_as "$NAMELESS \\[GONE\\]$MAYBE"
check R7_enable_gone refused_as untraced enable "Invalid argument"
check R6_disable_gone told untraced disable
load kprobes_target
reloaded() {
	before=$(cat $PROBER/untraced)
	echo 3 >$TARGET/call
	[ "$before" = "$(cat $PROBER/untraced)" ]
}
check R10_gone_is_gone_for_good reloaded
check R10_address_is_probed_again told again register
check R10_address_is_hit_again called again 0 3
check R10_gone_is_unregistered told untraced unregister
check R10_gone_shared_is_unregistered told function unregister
check R10_newer_is_still_hit called again 3 6
check R10_registered_when_it_came_again told untraced register
check R10_hit_when_it_came_again called untraced 0 3
told again unregister
settled
# A notifier that is called late unregisters the probe and calls the function. With C, the
# breakpoint is there still, and nobody's.
if [ "$IMPL" = rust ]; then
	echo y >$PROBER/leaves
	check R10_going_text_is_restored rmmod kprobes_target
	echo n >$PROBER/leaves
else
	told untraced unregister
	rmmod kprobes_target
fi

# jumped: is the breakpoint made a jump? C does so a moment later, if at all.
jumped() {
	load kprobes_target && told untraced register || return 1
	replaced=1
	for moment in 1 2 3 4 5 6 7 8 9 10; do
		listed "  kprobes_target_untraced\\+$ENTRY .*\\[OPTIMIZED\\]" >/dev/null &&
			replaced=0 && break
		sleep 0.1
	done
	told untraced unregister && settled && rmmod kprobes_target
	return $replaced
}

# The same as a kernel of the module's first life: the text goes in between.
again_and_again() {
	for round in 1 2 3 4 5; do
		load kprobes_target && told untraced register &&
			called untraced 0 3 && rmmod kprobes_target &&
			load kprobes_target && told again register &&
			called again 0 3 && told untraced unregister &&
			called again 3 6 && told again unregister &&
			rmmod kprobes_target || return 1
	done
}
burnt=D3_address_is_never_burnt
if [ "$IMPL" = c ] && jumped; then
	skip $burnt "defect D3: with a jump there, C never probes the address again"
else
	check $burnt again_and_again
fi

load kprobes_target probe_init=1
check R10_init_text_is_probed_while_it_comes says "^1$" $TARGET/init_hits
if [ $INIT_STAYS = y ]; then
	check U2_init_text_that_stays listed_as \
		"$ADDRESS  k  kprobes_target_init_text\\+$ENTRY  kprobes_target (\\[FTRACE\\])?"
else
	check U2_unknown_symbol listed_as \
		"$NAMELESS \\[GONE\\](\\[FTRACE\\])?"
fi
check R10_probed_init_text_goes rmmod kprobes_target

# A livepatch makes the load fail before any notifier is told of the module. C
# registers a probe by address meanwhile, and leaves it on text that is freed.
late_failure() {
	klp=/sys/kernel/livepatch/kprobes_klp
	load kprobes_klp || return 1
	(! load kprobes_target) 2>/dev/null || wrong "the load succeeded" || return 1
	says "^-11$" /sys/module/kprobes_klp/parameters/registering || return 1
	echo 0 >$klp/enabled && comes_true test ! -e $klp && rmmod kprobes_klp &&
		load kprobes_target && told untraced register &&
		called untraced 0 3 && told untraced unregister &&
		rmmod kprobes_target
}
if [ "$IMPL" = rust ] && [ -e /sys/kernel/livepatch ]; then
	check R10_load_that_a_livepatch_refuses late_failure
elif [ "$IMPL" = rust ]; then
	skip R10_load_that_a_livepatch_refuses "no CONFIG_LIVEPATCH"
fi

# pages: how many of copied instructions there are.
pages() {
	grep -c "kprobe_insn_page" /proc/kallsyms
}
slots() {
	before=$(pages)
	for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		told untraced register && told untraced unregister || return 1
	done
	[ "$(pages)" -le $((before + 1)) ]
}
load kprobes_target
check S2_slots_are_used_again slots

# spared HOW PATTERN: the kernel survives this case of kprobes_crash, and says so.
spared() {
	mark "$1"
	load kprobes_crash how="$1" && since "$1" "$2" >/dev/null &&
		rmmod kprobes_crash
}
if [ "$IMPL" = rust ] && [ -e /modules/kprobes_crash.ko ]; then
	check D2_last_post_handler spared posts "posts: survived 2 hits"
	check D4_refused_and_unregistered spared not_watched \
		"not_watched: survived"
	survivals
fi

# Whose client, or handler, has gone without a word.
FORGETFUL="module kprobes_forgetful"
FORGOTTEN="while its probe at"
forgetful() {
	mark "$1"
	load kprobes_forgetful || return 1
	warned=$(since "$1" \
		"$FORGETFUL frees its init memory $FORGOTTEN" | wc -l)
	[ "$warned" = 1 ] ||
		wrong "$warned warnings when its init memory went" || return 1
	(:)
	[ "$(cat /sys/module/kprobes_forgetful/parameters/hits)" -gt 1 ] ||
		return 1
	rmmod kprobes_forgetful || return 1
	since "$1" "$FORGETFUL is unloaded $FORGOTTEN kernel_clone\+$ENTRY/" \
		>/dev/null || return 1
	warned=$(since "$1" "$FORGETFUL is unloaded $FORGOTTEN" | wc -l)
	[ "$warned" = 4 ] || wrong "$warned warnings when it went" || return 1
	(:)
	cat /proc/version >/dev/null
	not_listed "kernel_clone|do_sys_openat2|forgetful"
}
if [ "$IMPL" = rust ]; then
	check R10_forgotten_probes_go_with_their_module forgetful forgetful
	check R10_forgotten_again forgetful forgetful-again
else
	skip R10_forgotten_probes_go_with_their_module \
		"C leaves the handlers in freed text"
fi
plan

suite files
check U1_modes test "$(cd $KPROBES && stat -c %a list enabled blacklist |
	tr '\n' ' ')" = "400 600 400 "
check U3_reads_1 grep -qx 1 $KPROBES/enabled
# no_tracepoint: events that others make may be there, but none of ours.
no_tracepoint() {
	grep -q : $TRACING/available_events || return 1
	! grep -i kprobe $TRACING/available_events
}

# no_parameter: but for that of kprobe events, none has kprobes in its name.
no_parameter() {
	grep -E " __(setup|param)_[a-z_]*kprobe" /proc/kallsyms >/tmp/setup
	grep -q " __setup_set_kprobe_boot_events\b" /tmp/setup || return 1
	! grep -vE " __setup_(str_)?set_kprobe_boot_events\b" /tmp/setup || return 1
	[ ! -e /sys/module/kprobes ] && [ ! -e /sys/module/rust_kprobes ]
}
if [ -e $TRACING/kprobe_events ]; then
	check U6_no_tracepoint no_tracepoint
	check U6_no_parameter no_parameter
fi
# C has no such file.
if [ "$IMPL" = rust ]; then
	for counter in step_faults slots_pending_free; do
		check "counter_of_$counter" says "^$counter [0-9]+\$" $KPROBES/counters
	done
fi
told untraced register
mark switch
check U3_switch_off sh -c "echo 0 >$KPROBES/enabled"
check U3_reads_0 grep -qx 0 $KPROBES/enabled
check U3_says_disabled since switch "kprobes: Kprobes globally disabled"
check U3_nothing_is_hit called untraced 0 0
check U3_probes_are_not_disabled listed_as \
	"$ADDRESS  k  kprobes_target_untraced\\+$ENTRY  kprobes_target $MAYBE"
same() {
	mark same
	echo 0 >$KPROBES/enabled && ! since same "Kprobes globally" >/dev/null
}
check U3_same_state_says_nothing same
told again register
check U3_registered_while_off called again 0 0
told function register
told function disable
told function enable
told untraced disable
told untraced enable
check U3_switch_on sh -c "echo Y >$KPROBES/enabled"
check U3_says_enabled since switch "kprobes: Kprobes globally enabled"
check U3_hit_again called again 0 3
# Both were enabled again while everything was off.
check R7_enabled_while_off called untraced 3 6
check U3_garbage_is_refused not sh -c "echo maybe >$KPROBES/enabled"
told untraced unregister
told again unregister
told function unregister

check U4_lines not grep -vE \
	"^0x$ADDRESS-0x$ADDRESS	[^ ]+( \\[[a-z_]+\\])?\$" $KPROBES/blacklist
check U4_kernel grep -qE "	notify_die\$" $KPROBES/blacklist
check U4_module_by_name grep -qE "	kprobes_target_named \\[kprobes_target\\]\$" \
	$KPROBES/blacklist
check U4_module_by_section grep -qE \
	"	kprobes_target_section \\[kprobes_target\\]\$" $KPROBES/blacklist
check U4_addresses_are_hidden hidden blacklist "0x0{$DIGITS}-0x0{$DIGITS}	"
settled
rmmod kprobes_target
check U4_module_is_gone not grep kprobes_target $KPROBES/blacklist
rmmod kprobes_prober
plan

# What perf is told.

# symbol_pages: where /proc/kallsyms says that copies are.
symbol_pages() {
	grep "kprobe_insn_page" /proc/kallsyms | cut -d " " -f 1 | sort
}

# told_of FLAGS: the pages that the records name.
told_of() {
	sed -n "s/^ksymbol \([0-9a-f]*\) 4096 type 2 flags $1 kprobe_insn_page\$/\1/p" \
		$RECORDS
}

# changed WORD FEWER MORE FLAGS: of the pages in two files, perf is told of those
# that only the second one has, in records with these flags and no others.
changed() {
	symbol_pages >/tmp/before
	recorded $CROWD/all "$1" || return 1
	symbol_pages >/tmp/after
	[ -n "$(told_of "$4")" ] && [ -z "$(told_of $((1 - $4)))" ] || return 1
	{
		cat "$2"
		told_of "$4"
	} | sort | diff "$3" -
}

pages_come_and_go() {
	changed register /tmp/before /tmp/after 0 &&
		changed unregister /tmp/after /tmp/before 1 && return 0
	echo unregister >$CROWD/all
	return 1
}

# The copy, and the breakpoint, which come and go.
text_changes() {
	recorded $CROWD/one register $CROWD/one unregister || return 1
	site=$(grep " kprobes_crowd_text\b" /proc/kallsyms | cut -d " " -f 1)
	# What C writes besides is for a jump.
	grep text_poke $RECORDS | sed "s/$site/site/;s/ [0-9a-f]\{16\} / copy /" |
		grep -wE "site|0f06cc" >/tmp/changes
	diff - /tmp/changes <<-END
		text_poke copy - 0f06cc
		text_poke site 0f cc
		text_poke site cc 0f
		text_poke copy 0f06cc -
	END
}

# lower ADDRESS: its lower half, as a number that can be reckoned with.
lower() {
	echo $((0x${1#????????}))
}

# leads_to AT JUMP: where a jump at such a number leads.
leads_to() {
	distance=$(echo "$2" | sed "s/^e9\(..\)\(..\)\(..\)\(..\)\$/0x\4\3\2\1/")
	echo $((($1 + 5 + distance) & 0xffffffff))
}

# What a jump is over, with the breakpoint in it.
UNDER=cc8d470531

# jump_told: sets $site and $jump, and $detour and $code: what was written where
# the jump leads.
jump_told() {
	site=$(grep " kprobes_crowd_jump\b" /proc/kallsyms | cut -d " " -f 1)
	jump=$(sed -n "s/^text_poke $site $UNDER //p" $RECORDS | sort -u)
	case $jump in
	e9????????) ;;
	*) wrong "perf is told of these jumps at $site: '$jump'" || return 1 ;;
	esac
	target=$(leads_to "$(lower "$site")" "$jump")
	while read -r what at old new; do
		[ "$what $old" = "text_poke -" ] || continue
		into=$((target - $(lower "$at")))
		if [ $into -ge 0 ] && [ $into -lt $((${#new} / 2)) ]; then
			detour=$at
			code=$new
		fi
	done <$RECORDS
	[ "$code" ] || wrong "no detour for $jump at $site"
}

# The jump comes, goes, comes and goes with its probe. Who writes it is not who
# has asked for it.
jump_changes() {
	recorded $CROWD/jump register $CROWD/jump wait $JUMPS 0 $JUMPS 1 \
		$CROWD/jump wait $CROWD/jump unregister $JUMPS 0
	status=$?
	echo 1 >$JUMPS
	[ $status = 0 ] || {
		echo unregister >$CROWD/jump
		return 1
	}
	jump_told || return 1
	sed -n "s/^text_poke $site /site /p;s/^text_poke $detour /detour /p" \
		$RECORDS | sed "s/ $jump\b/ jump/;s/ $code\b/ code/" >/tmp/changes
	diff - /tmp/changes <<-END
		site 48 cc
		detour - code
		site $UNDER jump
		site jump $UNDER
		site $UNDER jump
		site jump $UNDER
		site cc 48
		detour code -
	END
}

# At its end is the jump to what is behind the six bytes that it has copies of.
whole_detour() {
	jump_told || return 1
	back=${code#"${code%??????????}"}
	at=$(($(lower "$detour") + ${#code} / 2 - 5))
	[ "$(leads_to $at "$back")" = $(($(lower "$site") + 6)) ] ||
		wrong "$code at $detour, for $jump at $site"
}

# Each line of the list is behind the one before.
ascending() {
	echo register >$CROWD/all || return 1
	listed kprobes_crowd_text | cut -d" " -f1 >/tmp/order
	echo unregister >$CROWD/all
	[ "$(wc -l </tmp/order)" = 320 ] && sort -c /tmp/order
}

# How many pages the copies of the crowd fill.
case $IMPL in
rust) CROWD_PAGES=5 ;;
*) CROWD_PAGES=2 ;;
esac
# A page is made only where no slot is free, and slots are used again.
pages_are_filled() {
	before=$(pages)
	for round in 1 2 3; do
		echo register >$CROWD/all || return 1
		during=$(pages)
		echo unregister >$CROWD/all
		[ "$during" -ge $CROWD_PAGES ] &&
			[ "$during" -le $((before + CROWD_PAGES)) ] ||
			wrong "$before pages, then $during" || return 1
	done
}

read_only() {
	echo register >$CROWD/one
	said=$(
		for page in $(symbol_pages); do
			echo "$page" 2>&1 >$CROWD/poke
		done
	)
	echo unregister >$CROWD/one
	[ -n "$said" ] && ! echo "$said" | grep -v "Bad address"
}
if [ -e /modules/perf_records ]; then
	suite copies
	load kprobes_crowd
	if [ "$IMPL" = rust ]; then
		check U2_ascending ascending
	fi
	check S1_pages_are_filled pages_are_filled
	check S5_copies_are_read_only read_only
	# Records of C's jumps are none of these.
	[ ! -e $JUMPS ] || echo 0 >$JUMPS
	check S3_pages_of_copies_come_and_go pages_come_and_go
	check O6_text_poke_records text_changes
	if [ -e $JUMPS ]; then
		echo 1 >$JUMPS
		check O6_text_poke_records_of_a_jump jump_changes
		check O6_text_poke_records_of_a_whole_detour whole_detour
	fi
	rmmod kprobes_crowd
	plan
fi

# uprobes PROGRAM: with uprobes it does the same, and hits each of them 100 times.
uprobes() {
	at=$(strings -t d $1 | sed -n "s/^ *\([0-9]*\) uprobed:\$/\1/p")
	for place in 8 12 16 24 32 36 40; do
		printf "p:uprobed/at_%d $1:0x%x\n" $place $((at + place)) \
			>>$TRACING/uprobe_events || return 1
	done
	printf "r:uprobed/return $1:0x%x\n" $((at + 8)) >>$TRACING/uprobe_events &&
		echo 1 >$TRACING/events/uprobed/enable && $1 ||
		wrong "the program ended with $?" || return 1
	hits=$(awk "{ print \$3 }" $TRACING/uprobe_profile | uniq -c)
	echo 0 >$TRACING/events/uprobed/enable && echo >$TRACING/uprobe_events
	[ "$hits" = "      8 100" ] || wrong "hits: $hits"
}
if [ -e /modules/uprobed ]; then
	suite uprobes
	cp /modules/uprobed /tmp && chmod 755 /tmp/uprobed
	check H11_uprobes_are_hit uprobes /tmp/uprobed
	plan
fi
