# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# limit: 420
# So many probes behind functions' entries, where ftrace has no part in it.
python3 /clients/attach.py scale 10000 tracefs behind | tee out
grep -q ' 10000 attached' out
echo "10000 by tracefs" >>"/results/$CASE.used"
nobody .
