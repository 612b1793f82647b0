# SPDX-License-Identifier: GPL-2.0
"""One record per architecture: what it is built, booted and tested with.

An architecture is a file in this folder, which defines ARCH, and its name
below. Nothing else of the harness lists them.
"""

import importlib
import re
from dataclasses import dataclass, field
from re import Pattern

# The first is the default, and that of the pages; kp reads this line, too.
NAMES = ('x86_64', 'arm', 'ppc64le', 's390x')


@dataclass(frozen=True)
class Piece:
    """A kernel, or a boot of one, that make test-all has beside make test's."""

    # pylint: disable=too-many-instance-attributes
    name: str               # behind IMPL-ARCHITECTURE-
    kind: str = 'whole'     # see matrix.py
    flavour: str = 'test'   # see fragments.py
    impl: str = 'rust'
    cmdline: str = ''       # what it is booted with,
    says: str | None = None     # the pattern it says if it has understood that,
    extra: tuple[str, ...] = ()     # and what QEMU is told
    states: int = 64        # that forms are run from
    seconds: int = 0        # of a storm
    piecewise: bool = False
    returns: bool = False


# One of the kernel's own tests is not fit for PREEMPT_RT, and warns there:
# see plan/known-rust-rt.txt. KUnit takes one pattern and no exceptions from
# it, but spinlock_irq_condvar is the only one with this q. plan/suites*.txt
# guards the others.
PREEMPT_RT = Piece('rt', flavour='rt', cmdline='kunit.filter_glob=*.*[!q]????????')

STORMS = (Piece('storm', 'storm', seconds=600),
          Piece('storm-piecewise', 'storm', seconds=600, piecewise=True))
STORM_2 = Piece('storm-2', 'storm', seconds=600, extra=('-smp', '2'))


@dataclass(frozen=True)
class HitPath:
    """The words of an architecture that check-hit-path.py reads."""

    # A branch: how it begins, the operands if it is indirect, and all of it if
    # it is by a table of its own function.
    branch: Pattern
    indirect: Pattern
    table: Pattern
    # Entries of the hit path that only this architecture has, and those of
    # them that clients' handlers are called from.
    entries: tuple[str, ...]
    handlers: Pattern
    # Prefixes that may stand before a branch.
    prefixes: Pattern = re.compile(r'^\b$')
    # The functions in which mitigations do an indirect branch, and a return.
    thunk: Pattern = re.compile('$^')
    return_thunk: Pattern = re.compile('$^')


@dataclass(frozen=True)
class Arch:
    """The properties of an architecture."""

    # pylint: disable=too-many-instance-attributes
    name: str
    kernel: str         # ARCH= of the kernel's make
    folder: str         # its folder in arch/
    option: str         # the one behind CONFIG_ that only it has
    elf: int            # its machine in the header of an ELF file
    debian: str         # its name in Debian
    target: str         # what the kernel's make makes, and where that is
    image: str
    qemu: tuple[str, ...]
    cpu: str
    console: str        # for the kernel's command line
    memory: int         # MiB
    steps: int          # lines that a build from nothing prints
    budget: float       # minutes of its part of make test
    planned: float = 10     # minutes of a build from nothing
    back_end: bool = False  # has it one in Rust?
    cpus_with_c: int = 2    # how many CPUs C's kprobes survive
    kvm: bool = False
    with_kasan: str = ''    # also for the command line, if the kernel has KASAN
    share: str = 'virtio-9p'    # QEMU's device that shares a folder
    thread: str = 'single'      # of QEMU's: for all CPUs, or for each
    thumb: bool = False     # may a function be Thumb code?
    # For flavours with GCC: the kernel's configuration below the fragments, if not
    # the tiny ones, and the prefix of the compiler.
    defconfig: str = ''
    cross: str = ''
    # Modules of the kernel's own that tests load.
    shipped: tuple[str, ...] = ()
    # Programs below the first folder of our test modules.
    programs: tuple[str, ...] = ()
    # Bytes before a function's entry, by the option that puts them there.
    entry_marks: dict[str, int] = field(default_factory=dict)
    # The offset from the entry of a probe from the kernel's command line.
    early_probe: int | None = None
    # The kernel's words when it dies: of a fault, of BUG(), and
    # before the place.
    oops: dict[str, str] = field(default_factory=dict)
    # Parts of the tests that exist for it so far.
    crashes: tuple[str, ...] = ()   # the implementations that survive the crashes,
    crash_tests: tuple[str, ...] = ()   # those crashes that not all architectures have,
    forms: tuple[str, ...] = ('rust',)  # and the forms: on s390x, C repeats what faults
    clients: bool = False
    pieces: tuple[Piece, ...] = ()
    hit_path: HitPath | None = None
    # For coverage_drawn.py: the length of an instruction by its first two bits, and
    # functions that C calls, or locks that it takes, before it looks for a hit's probe.
    lengths: tuple[int, ...] = (4,) * 4
    c_calls: str = '$^'
    # The lists of opcodes that isa/gen-opcodes.awk of its back end reads, if there is one.
    opcodes: tuple[str, ...] = ()

    @property
    def modules(self) -> tuple[str, ...]:
        """The folders of our test modules."""
        ours = ('tools/testing/selftests/kprobes/modules',
                'tools/testing/selftests/kprobes/storm', 'lib/tests/kprobes/forms',
                f'arch/{self.folder}/kprobes/tests/forms')
        return ours if self.back_end else ours[:1]


def of(name: str) -> Arch:
    """The record of the architecture NAME."""
    return importlib.import_module(f'{__name__}.{name}').ARCH
