# SPDX-License-Identifier: GPL-2.0
# What must kill the guest, and how: alone in its own boot.
load kprobes_crash how=unrecoverable
