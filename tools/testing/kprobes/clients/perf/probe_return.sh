# SPDX-License-Identifier: GPL-2.0
# A return probe with its value.
perf probe --quiet --add 'gone=vfs_rmdir%return ret=$retval:s64'
start perf record --quiet -o data -e probe:gone__return -a -- bash -c \
	'for n in {1..5}; do mkdir /tmp/case/m; rmdir /tmp/case/m; done; sleep 2'
wait_for 60 armed 1 ' r +vfs_rmdir\+'
ours 1 ' r +vfs_rmdir\+'
finished
perf script -i data -F comm,event,trace | sed 's/([^)]*)//' | sort | uniq -c
perf probe --quiet --del 'probe:*'
