# SPDX-License-Identifier: GPL-2.0
# SystemTap: a probe at each line of a function.
script env STAP_PR13193_OVERRIDE=1
at_least 8 ' k +vfs_rmdir\+'
grep -c vfs_rmdir "$LIST"
for _ in {1..5}; do mkdir m; rmdir m; done
stop
sed 's,@.*/fs/,@fs/,' out
nobody .
