# SPDX-License-Identifier: GPL-2.0
# What arm has beside what lib.sh says.

ARG3=%r2
