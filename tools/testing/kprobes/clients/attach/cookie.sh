# SPDX-License-Identifier: GPL-2.0
# A program of BPF is told where the probed function is, and its own cookie.
offset=$(python3 /clients/inside.py set_fs_pwd)
for at in 0 "$offset"; do
	python3 /clients/attach.py cookie set_fs_pwd "$at" | tee out
	grep -q 'probes: 1' out
	echo "1 by perf_event_open" >>"/results/$CASE.used"
	nobody .
done
