# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# SystemTap: return probes with the value, and with arguments kept at the entry.
start staprun /stap/stap_return.ko
wait_for 60 grep -q ready out
ours 1 ' r +vfs_rmdir\+'
mkdir -p full/more one two
rmdir one two full 2>/dev/null || :
rmdir full 2>/dev/null || :
stop
cat out
nobody .
