# SPDX-License-Identifier: GPL-2.0
# limit: 900
# Behind functions' entries and without jumps, as in scale_10000_perf.sh.
echo 0 >/proc/sys/debug/kprobes-optimization
scale 10000 tracefs behind
