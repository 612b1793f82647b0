# SPDX-License-Identifier: GPL-2.0
# SystemTap: a hundred functions at once, each at its entry and its return.
script
at_least 50 ' k +vfs_'
at_least 50 ' r +vfs_'
grep -c ' vfs_' "$LIST"
for _ in {1..10}; do mkdir m; rmdir m; done
script_ends
