# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# limit: 120
# So many probes at functions' entries: by perf_event_open, and by tracefs.
for way in perf tracefs; do
	python3 /clients/attach.py scale 100 $way | tee out
	grep -q ' 100 attached' out
	echo "100 by $way" >>"/results/$CASE.used"
	nobody .
done
