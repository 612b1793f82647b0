# SPDX-License-Identifier: GPL-2.0
# SystemTap: calls of a function with an argument.
script
ours 1 ' k +set_fs_pwd\+'
mkdir one
for _ in {1..20}; do
	cd /tmp/case/one || exit
	cd /tmp/case || exit
done
script_ends
