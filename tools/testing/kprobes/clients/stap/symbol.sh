# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# SystemTap: probes by name alone, casts, and a bad address in a handler.
start staprun /stap/stap_symbol.ko
wait_for 60 grep -q ready out
ours 1 ' k +vfs_mkdir\+'
ours 1 ' r +vfs_rmdir\+'
mkdir -m 700 one
mkdir -m 755 two
rmdir one two
stop
cat out
nobody .
