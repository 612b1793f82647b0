# SPDX-License-Identifier: GPL-2.0
# limit: 1800
# unfit: s390x: each of the probes stops all CPUs, which takes an emulator over half an hour
# Behind functions' entries and without jumps, as in scale_10000_perf.sh.
no_jumps
scale 10000 tracefs behind
