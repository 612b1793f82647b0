# SPDX-License-Identifier: GPL-2.0
# What `make shell` gives: an interactive shell.
cat <<'TEXT'

  kernel modules     ls /modules; insmod /modules/kprobe_example.ko symbol=kernel_clone
  many at once       insmod /modules/kprobe_batch_example.ko symbols=kernel_clone,vfs_read
                     echo 1 >/sys/module/kprobe_batch_example/parameters/armed
                     rmmod kprobe_batch_example
  in Rust            insmod /modules/rust_kretprobe.ko; rmmod rust_kretprobe
  in its place       insmod /modules/jprobe_example.ko (not with IMPL=c)
  what is probed     cat /sys/kernel/debug/kprobes/list
  probe by hand      cd /sys/kernel/tracing; echo 'p vfs_read' >kprobe_events
                     echo 1 >events/kprobes/enable; head -n 20 trace
  kernel log         dmesg
  leave              exit (or Ctrl-A x, which ends QEMU on every architecture)

TEXT
cd /
# A shell that has ended says how its last command did; 127: there is no cttyhack.
setsid cttyhack sh || [ $? -lt 126 ] || sh
