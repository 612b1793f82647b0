# SPDX-License-Identifier: GPL-2.0
# limit: 480
# unfit for C: s390x: QEMU ends C's step of a branch at a wrong address
# So many probes, at functions' entries and behind them.
scale 1000 perf
scale 1000 tracefs
scale 1000 perf behind
