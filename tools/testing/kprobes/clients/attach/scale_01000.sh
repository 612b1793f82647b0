# SPDX-License-Identifier: GPL-2.0
# limit: 480
# So many probes, at functions' entries and behind them.
scale 1000 perf
scale 1000 tracefs
scale 1000 perf behind
