# SPDX-License-Identifier: GPL-2.0
# limit: 1800
# unfit: s390x: each of the probes stops all CPUs, which takes an emulator over half an hour
# So many probes behind functions' entries, where ftrace has no part in it, as
# breakpoints: with jumps C keeps each probe waiting for those before it, and
# takes over a quarter of an hour.
no_jumps
scale 10000 perf behind
