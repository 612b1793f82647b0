# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # of lib.sh
SYSCALL=__s390x_sys NOPROBE=__do_pgm_check JUMP='' PC=pswaddr PERF_EVENT_OPEN=331 CALL_SIZE=6
