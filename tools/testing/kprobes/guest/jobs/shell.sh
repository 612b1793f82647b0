# SPDX-License-Identifier: GPL-2.0
# What `make shell` gives: an interactive shell.
cat <<'TEXT'

  kernel modules     ls /modules; insmod /modules/kprobe_example.ko symbol=kernel_clone
  many at once       insmod /modules/kprobe_batch_example.ko symbols=kernel_clone,vfs_read
                     echo 1 >/sys/module/kprobe_batch_example/parameters/armed
                     rmmod kprobe_batch_example
  in its place       insmod /modules/jprobe_example.ko (not with IMPL=c)
  what is probed     cat /sys/kernel/debug/kprobes/list
  probe by hand      echo 'p vfs_read' >/sys/kernel/tracing/kprobe_events
  kernel log         dmesg
  leave              exit (or Ctrl-A x, which ends QEMU on every architecture)

TEXT
cd /
setsid cttyhack sh || sh
