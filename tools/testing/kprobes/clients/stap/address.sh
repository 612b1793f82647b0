# SPDX-License-Identifier: GPL-2.0
# SystemTap: a probe at an address, which becomes a jump where staprun does not
# switch that off: it does, unless this is set.
# unfit: s390x: the kernel does not run at the address that it is linked at
offset=$(python3 /clients/inside.py vfs_statx)
script env STAP_PR13193_OVERRIDE=1
wait_for 60 probed 1 " k +vfs_statx\+$offset $JUMP"
ours 1 " k +vfs_statx\+$offset "
set +x
for ((n = 0; n < 50; n++)); do [ -e /etc/passwd ]; done
set -x
script_ends
