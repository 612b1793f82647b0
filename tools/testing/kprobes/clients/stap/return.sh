# SPDX-License-Identifier: GPL-2.0
# SystemTap: return probes with the value, and with arguments kept at the entry.
script
ours 1 ' r +vfs_rmdir\+'
mkdir -p full/more one two
rmdir one two full 2>/dev/null || :
rmdir full 2>/dev/null || :
script_ends
