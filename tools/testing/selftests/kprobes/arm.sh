# SPDX-License-Identifier: GPL-2.0
# The functions and names of arm that replace those of lib.sh.

ARG3=%r2
