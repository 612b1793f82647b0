# SPDX-License-Identifier: GPL-2.0
# perf probe at a function, perf record, perf script: each call is there.
perf probe --quiet --add cd=set_fs_pwd
perf probe --list >&2
start perf record --quiet -o data -e probe:cd -a -- bash -c 'for n in {1..50}; do cd /tmp; done; sleep 2'
wait_for 60 armed 1 ' k +set_fs_pwd\+'
ours 1 ' k +set_fs_pwd\+'
finished
perf script -i data -F comm,event,sym >script
grep -c probe:cd script
sort script | uniq -c
perf probe --quiet --del 'probe:*'
nobody .
