# SPDX-License-Identifier: GPL-2.0
# The front door. Each command sets up what it needs and says what it does;
# `make help` lists them. What belongs to the kernel's own build stands in
# rust/kprobes, arch/*/kprobes and patches/.

KP := tools/testing/kprobes/kp
export ARCH IMPL KSRC JOBS CACHE V DIR ARGS UNDO PIECE TEST FAST SEED DEBIAN_MIRROR DEBIAN_SECURITY
# What stands on the command line: kp refuses a name that it does not know.
export KP_GIVEN := $(MAKEOVERRIDES)

COMMANDS := run test test-all test-clients check check-kernel shell bench bench-quick \
	kernel host-test host-fuzz host-bench host-miri kunit selftest storm coverage module apply series docs selfcheck \
	clean

.PHONY: help distclean $(COMMANDS)
.DEFAULT:
	@echo "expected one of the commands that make help lists, found: $@" >&2; exit 2

help distclean $(COMMANDS):
	@exec $(KP) $@

#: make run            boot Linux in QEMU, load the samples, show probes firing, the list, the switches, refusals
#: make test           what CI runs: check, host tests, then per supported architecture: kernel, check-kernel, boot, tests
#: make test-all       the whole matrix, resumable piece by piece (PIECE=name for one of them)
#: make test-clients   perf, bpftrace, bcc, trace-cmd, SystemTap and upstream's tests use C's kprobes and ours: a table
#:                     (ARCH= with a back end; IMPL= one of them; ARGS=perf: cases whose names begin so)
#: make check          no kernel needed: formatting, clippy, layers, unsafe count, licences, shell and Python; the pure
#:                     part is compiled for i686, powerpc and s390x without std
#: make check-kernel   against the built kernel: hit path, stray text, CLIPPY=1, rustdoc
#: make shell          the same kernel to an interactive shell, samples and debugfs ready
#: make bench          the cost table of C and Rust with ratios, and JSON (at most 30 minutes; IMPL= one of them)
#:                     fails where a row differs by over 1 % from the run before of the same kernel
#: make bench-quick    the rows of one hit only, against the committed figures of C
#: make kernel         build the kernel of `make test` only
#: make host-test      the host tests only (TEST=glob)
#: make host-fuzz      our decoder against LLVM, iced and insn.c on 100 million strings; boundaries,
#:                     copies and emulation against iced and the CPU; those of s390x and Arm against LLVM,
#:                     and capstone (SEED=n; ARGS=n: random strings of A32 and T32, 5 million of each otherwise)
#: make host-bench     the time of a hit of a return probe and of the return, with 1, 2, 4 and 8 threads on the host
#: make host-miri      host tests under Miri, which finds undefined behaviour; those of pure code also as on i686,
#:                     powerpc and s390x (a pinned nightly Rust, fetched once; without it they fail)
#: make kunit          boot and count the KUnit suites only (TEST=suite.case)
#: make selftest       boot and count the samples' and clause tests only (TEST=suite.case)
#: make storm          probes come and go under constant hits on 4 CPUs (ARGS="600 piecewise returns": seconds,
#:                     interrupts anywhere, return probes alone)
#: make coverage       how many instructions of the booted kernel may become jumps, with Rust and C, by reason;
#:                     5,000 of them registered with each (SEED=n; another ARCH=: these only, and how many can
#:                     be probed)
#: make module DIR=p   build a module of yours, C or Rust, against our kernel, boot, load it, run the run.sh beside it,
#:                     show its output (ARGS= its parameters)
#: make apply KSRC=p   put overlay and patches into your own 7.3 tree (UNDO=1 takes them out again)
#: make series KSRC=p  the same as seven git am-able series: checkpatch --strict on each mail, after each patch a
#:                     build with C and, once it can be selected, one with Rust (FAST=1: no builds)
#: make docs           the pages of Documentation/trace/rust-kprobes/ and rustdoc's, in HTML: says where they are, fails
#:                     where a warning names a file of ours
#: make selfcheck      prove that an interrupted build goes on, and that a killed one leaves nothing
#: make clean          delete objects
#: make distclean      delete everything, the cache with its toolchain included
#:
#: variables (one of another name is refused, and so is a wrong value):
#:   ARCH=ARCHES, for make test also all: C stands in where there is no back end of ours
#:   IMPL=rust|c          which kprobes: rust where there is a back end, else c; with bench and test-clients both
#:   KSRC=dir             a kernel tree of yours, 7.3
#:   DIR=dir              module: the folder of yours
#:   ARGS="..."           module: its parameters; storm: seconds, piecewise, returns; host-fuzz: strings;
#:                        test-clients: the beginning of cases' names
#:   PIECE=name           test-all: that one only
#:   TEST=glob            kunit, selftest: a suite, or suite.case (kprobes_test.test_kprobe); host-test: a part of
#:                        a test's name; * is anything
#:   SEED=n               host-fuzz, coverage: where chance begins
#:   UNDO=1               apply: take it out again
#:   FAST=1               series: no builds
#:   JOBS=n               compilers at once
#:   V=1                  show everything
#:   CACHE=dir            the default is ~/.cache/rust-kprobes
#:   DEBIAN_MIRROR=url    where the toolchain root comes from
#:   DEBIAN_SECURITY=url  the same for its security updates
#:   http_proxy, https_proxy, no_proxy, also in capitals
