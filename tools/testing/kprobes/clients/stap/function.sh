# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# SystemTap: calls of a function with an argument.
start staprun /stap/stap_function.ko
wait_for 60 grep -q ready out
ours 1 ' k +set_fs_pwd\+'
mkdir one
for _ in {1..20}; do
	cd /tmp/case/one || exit
	cd /tmp/case || exit
done
stop
cat out
nobody .
