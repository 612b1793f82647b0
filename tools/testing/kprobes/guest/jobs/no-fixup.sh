# SPDX-License-Identifier: GPL-2.0
# Tasks that have to die, and what comes after: alone in its own boot.
load kprobes_crash how=no_fixup
