# SPDX-License-Identifier: GPL-2.0
# limit: 900
# unfit for C: s390x: QEMU ends C's step of a branch at a wrong address
# Behind functions' entries and without jumps, as in scale_10000_perf.sh.
no_jumps
scale 10000 tracefs behind
