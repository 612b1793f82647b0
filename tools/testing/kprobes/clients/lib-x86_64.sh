# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # of lib.sh
SYSCALL=__x64_sys NOPROBE=exc_int3 PC=ip PERF_EVENT_OPEN=298 CALL_SIZE=5
