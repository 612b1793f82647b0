# SPDX-License-Identifier: GPL-2.0
# Instructions with and without a probe, and under jumps. C takes a minute for
# the probes of each position, so it has the first alone.

spare=n
positions=3
if [ "$IMPL" = c ]; then
	spare=y
	positions=1
fi
load kprobes_forms states="$STATES" spare_c=$spare positions=$positions ||
	fail forms "kprobes_forms.ko does not load"
rmmod kprobes_forms

# Upstream's suite of arm registers 27,000 probes. Text of several CPUs, and
# jumps that have to go, would make that half an hour.
CPU1=/sys/devices/system/cpu/cpu1/online
if [ -e /modules/kprobes_upstream.ko ]; then
	[ ! -e $JUMPS ] || echo 0 >$JUMPS || fail upstream "jumps cannot be turned off"
	[ ! -e $CPU1 ] || echo 0 >$CPU1
	load kprobes_upstream || fail upstream "kprobes_upstream.ko does not load"
	rmmod kprobes_upstream
	[ ! -e $CPU1 ] || echo 1 >$CPU1
	[ ! -e $JUMPS ] || echo 1 >$JUMPS
fi
