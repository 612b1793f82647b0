# SPDX-License-Identifier: GPL-2.0
# limit: 900
# needs: /usr/lib/perf-core/tests/shell/base_probe
# perf's own tests of perf probe, which Debian's linux-perf ships.
export PERFSUITE_RUN_DIR=/tmp/case/run
watch
for test in /usr/lib/perf-core/tests/shell/base_probe/test_*.sh; do
	name=${test##*/test_}
	name=${name%.sh}
	"$test" >out 2>&1 || :
	cat out >&2
	# A line tells how each part has ended. Three parts of adding_kernel want the kernel's debugging
	# information, which is not where perf looks for it in the guest. They are skipped without their
	# names. On s390x, perf does not notice, and they fail.
	awk -v test="$name" -v machine="$(uname -m)" '
		BEGIN {
			split("listing_added_probe_perf_probe_l wildcard_adding_support " \
				"non_existing_variable", without)
		}
		/^-- \[ (PASS|FAIL|SKIP) \] --/ {
			verdict = tolower($3)
			sub(/^.* :: test_[a-z_]+ :: /, "")
			part = $0
			sub(/ \((command exitcode|output regexp).*/, "", part)
			if (/missing debuginfo/ && ++skipped in without)
				part = without[skipped]
			gsub(/[^[:alnum:]]+/, "_", part)
			sub(/_$/, "", part)
			for (n in without)
				if (machine == "s390x" && part == without[n])
					verdict = "skip"
			if (seen[part]++)
				part = part "_" seen[part]
			print "leaf: " test "/" part " " verdict (verdict == "pass" ? "" : " " $0)
		}
	' out
done
watched
