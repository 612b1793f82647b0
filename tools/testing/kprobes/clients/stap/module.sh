# SPDX-License-Identifier: GPL-2.0
# SystemTap: functions of a module that comes and goes, twice, while it watches.
script
nobody .
for _ in 1 2; do
	modprobe trace-printk
	# A name that has gone is what ftrace remembers.
	sed -E 's/^[0-9a-f]+ +//' "$LIST" | sort
	ours 1 ' k +trace_printk_irq_work\+'
	modprobe -r trace-printk
	nobody trace_printk
done
script_ends
