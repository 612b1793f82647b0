# SPDX-License-Identifier: GPL-2.0
# limit: 1500
# unfit for C: s390x: QEMU ends C's step of a branch at a wrong address
# ftracetest: upstream's tests of probe events and of the dynamic ones.
cp -r /selftests/ftrace .
cd ftrace || exit
# It takes the first tracefs that is mounted, and one of its tests wants the
# files of kprobes beside it.
umount "$TRACING"
mkdir -p /tmp/beside/tracing
ln -sfn "${LIST%/*}" /tmp/beside/kprobes
mount -t tracefs tracefs /tmp/beside/tracing
mount -t tracefs tracefs "$TRACING"

# The most that have stood in kprobes' list at once. The tests watch vfs_open(), so
# this opens nothing while they run.
python3 - "$LIST" "/results/$CASE.used" <<'END' &
import os
import sys
import time

most = 0
probes = os.open(sys.argv[1], os.O_RDONLY)
used = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT)
while True:
    time.sleep(0.5)
    now = at = 0
    while part := os.pread(probes, 1 << 16, at):
        now += part.count(b'\n')
        at += len(part)
    if now > most:
        most = now
        os.ftruncate(used, 0)
        os.pwrite(used, f'{most} at once\n'.encode(), 0)
END
watcher=$!
# It has read its modules by then.
wait_for 100 test -e "/results/$CASE.used"
./ftracetest --keep --logdir /tmp/case/logs test.d/kprobe test.d/dynevent >out 2>&1 || :
kill $watcher
cd /tmp/case || exit
umount /tmp/beside/tracing
set +x
cat ftrace/out >&2

# leaf NUMBER VERDICT: of a test, which its log names.
leaf() {
	local log name why
	log=$(echo logs/"$1"-*-log.*)
	name=$(sed -n 's,^execute.*/test\.d/\(.*\)\.tc$,\1,p; q' "$log")
	why=$(grep -v -E '^(\+|execute|$)' "$log" | tail -n 2 | paste -sd' ') || :
	case $2 in
	PASS) echo "leaf: $name pass" ;;
	UNRESOLVED | UNSUPPORTED | UNTESTED | XFAIL)
		echo "leaf: $name skip $2: ${why:-no word}"
		;;
	*)
		echo "leaf: $name fail $2: $(tail -n 4 "$log" | paste -sd';')"
		{
			echo "== $name"
			tail -n 40 "$log"
		} >&2
		;;
	esac
}

sed -nE 's/^\[([0-9]+)\].*\[([A-Z]+)\]$/\1 \2/p' ftrace/out |
	while read -r number verdict; do
		leaf "$number" "$verdict"
	done
