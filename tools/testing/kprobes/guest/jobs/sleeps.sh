# SPDX-License-Identifier: GPL-2.0
# A handler that may sleep: the kernel must say so, and go on.
load kprobes_sleeps
for i in 1 2 3; do
	(:)
done
rmmod kprobes_sleeps
