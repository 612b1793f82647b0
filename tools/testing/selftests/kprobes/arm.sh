# SPDX-License-Identifier: GPL-2.0
# What arm has beside what lib.sh says.

# shellcheck disable=SC2034 # of a job
ARG3=%r2
