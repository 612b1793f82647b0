# SPDX-License-Identifier: GPL-2.0
# limit: 240
# unfit: armv7l: there are no live patches on arm
# Upstream's test of a live patch and a probe on one function.
cp -r /selftests/livepatch .
cd livepatch || exit
cp "/lib/modules/$(uname -r)"/kernel/test_klp_*.ko test_modules/
# It looks for the kernel's build, of which it has all that it needs.
KDIR=/tmp
export KDIR
status=0
./test-kprobe.sh >out 2>&1 &
test=$!
set +x
while kill -0 $test 2>/dev/null; do
	[ -s "/results/$CASE.used" ] || grep . "$LIST" >"/results/$CASE.used" || :
done
set -x
wait $test || status=$?
cat out >&2
dmesg | tail -n 60 >&2
grep -o 'TEST: .*' out
[ $status = 0 ]
