# SPDX-License-Identifier: GPL-2.0
# Gives the harness the time to copy the kernel's memory.

say "coverage: still"
sleep 8
