# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# SystemTap: a hundred functions at once, each at its entry and its return.
start staprun /stap/stap_wildcard.ko
wait_for 100 grep -q ready out
at_least 50 ' k +vfs_'
at_least 50 ' r +vfs_'
grep -c ' vfs_' "$LIST"
for _ in {1..10}; do mkdir m; rmdir m; done
stop
cat out
nobody .
