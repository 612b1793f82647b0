# SPDX-License-Identifier: GPL-2.0
# limit: 120
# unfit for C: s390x: QEMU ends C's step of a branch at a wrong address
# So many probes, at functions' entries and behind them.
scale 100 perf
scale 100 tracefs
scale 100 perf behind
