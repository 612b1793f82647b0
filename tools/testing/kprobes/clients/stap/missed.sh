# SPDX-License-Identifier: GPL-2.0
# differs: room for two calls is what ours begins with; it grows when one is lost
# SystemTap: a return probe with room for two calls at once misses others.
cp /bin/sleep sleeper
script
ours 1 ' k +do_nanosleep\+'
ours 1 ' r +do_nanosleep\+'
sleepers=()
for _ in {1..5}; do
	./sleeper 5 &
	sleepers+=($!)
done
wait "${sleepers[@]}"
stop
cat out
grep -o 'skipped probes: [1-9].*' err
nobody .
