# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# SystemTap: a probe at each line of a function.
start env STAP_PR13193_OVERRIDE=1 staprun /stap/stap_statements.ko
wait_for 60 grep -q ready out
at_least 8 ' k +vfs_rmdir\+'
grep -c vfs_rmdir "$LIST"
for _ in {1..5}; do mkdir m; rmdir m; done
stop
sed 's,@.*/fs/,@fs/,' out
nobody .
