# SPDX-License-Identifier: GPL-2.0
# A system call that is made to fail, by fail_function and its probe.
cd /sys/kernel/debug/fail_function || exit
echo ${SYSCALL}_mkdir >inject
echo 0xfffffffffffffff4 >${SYSCALL}_mkdir/retval
echo 100 >probability
echo -1 >./times
ours 1 ${SYSCALL}_mkdir
status=0
mkdir /tmp/case/a 2>&1 || status=$?
echo $status
echo "!${SYSCALL}_mkdir" >inject
mkdir /tmp/case/a
nobody .
