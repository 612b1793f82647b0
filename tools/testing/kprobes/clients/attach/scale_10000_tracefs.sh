# SPDX-License-Identifier: GPL-2.0
# limit: 900
# So many probes behind functions' entries, where ftrace has no part in it, as
# breakpoints: with jumps C keeps each probe waiting for those before it, and
# takes over a quarter of an hour.
echo 0 >/proc/sys/debug/kprobes-optimization
scale 10000 tracefs behind
