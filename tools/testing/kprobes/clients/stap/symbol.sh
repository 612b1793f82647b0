# SPDX-License-Identifier: GPL-2.0
# SystemTap: probes by name alone, casts, and a bad address in a handler.
script
ours 1 ' k +vfs_mkdir\+'
ours 1 ' r +vfs_rmdir\+'
mkdir -m 700 one
mkdir -m 755 two
rmdir one two
script_ends
