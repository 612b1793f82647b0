# SPDX-License-Identifier: GPL-2.0
# limit: 400
# unfit: s390x: upstream's Makefile makes test_progs for the machine that it runs on
# unfit: armv7l: upstream's Makefile makes test_progs for the machine that it runs on
# Upstream's tests of BPF programs at probes; bpf.tests names them.
cp -r /bpf/. .
# It takes it away and puts it back by itself.
cp "/lib/modules/$(uname -r)/kernel/bpf_testmod.ko" .

watch
LD_PRELOAD=./answers.so ./test_progs --allow=@/clients/upstream/bpf.tests \
	>out 2>&1 || :
cat out >&2
watched

# A line tells how each test has ended, and each part of one, behind what was
# said of it, by libbpf, too; what has failed is said again at the end. Of a test with parts
# they alone count, unless something was wrong that is of none.
awk '
	/^All error logs:/ { exit }
	/^libbpf: / {
		if (libbpf == "")
			libbpf = $0 "; "
		next
	}
	!/^#[0-9]/ {
		if (why == "" && /:FAIL:/)
			why = libbpf $0
		libbpf = ""
		next
	}
	{
		name = verdict = $0
		sub(/^#[0-9\/]+ +/, "", name)
		sub(/:.*/, "", name)
		sub(/^[^:]*:/, "", verdict)
		word = verdict == "FAIL" ? "fail" : verdict ~ /^SKIP/ ? "skip" : "pass"
		if ($1 ~ /\//) {
			whole = name
			sub(/\/.*/, "", whole)
			if (!(whole in parts) && word == "pass")
				before[whole] = why
			parts[whole]
			if (word == "fail")
				wrong[whole]
		} else if (name in before && why == "") {
			why = before[name]
		}
		if ($1 ~ /\// || !(name in parts) || word == "fail" && !(name in wrong))
			print "leaf: " name " " word (word == "pass" ? "" : " " verdict \
				": " (why == "" ? "no word" : why))
		why = libbpf = ""
	}
' out
