# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # of lib.sh
SYSCALL=sys NOPROBE=do_undefinstr PC=pc ARG1=%r0 PERF_EVENT_OPEN=364 CALL_SIZE=4
