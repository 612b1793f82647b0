# SPDX-License-Identifier: GPL-2.0
"""Upstream's own tests of BPF for make test-clients: those that use kprobes.

tools/testing/selftests/bpf makes one program of all its tests, with several
hundred BPF programs. Here it makes one of a copy that has only the tests that
clients/upstream/bpf.tests names, and the BPF programs that these load; what is
there, is as upstream has it, its Makefile as well. Each kernel has a copy of
its own, as BPF programs take its types from it.
"""

import os
import re
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

import env
import procs
import progress
from clients import common
from kernel import Built

CASE = 'upstream/bpf'
# The Makefile makes it for the machine that it runs on.
ARCH = os.uname().machine
CHOSEN = common.FOLDER / 'upstream/bpf.tests'
# It answers what they ask of a kernel and ours has not.
_ANSWERS = common.FOLDER / 'upstream/bpf.c'
_SELFTESTS = 'tools/testing/selftests/bpf'
KMODS = f'{_SELFTESTS}/test_kmods'
# The Makefile's other programs are of these, and the BPF programs' own too.
_LEFT_OUT = ('verifier', 'map_tests', 'benchs')
# The parts of the kernel tree that the Makefile finds beside it.
_BESIDE = ('tools/arch', 'tools/bpf', 'tools/build', 'tools/include',
           'tools/lib', 'tools/scripts', 'tools/testing/selftests/lib.mk')
_WORDS = (
    # No documentation, and nothing that only bpftool's users want.
    'SKIP_DOCS=1', 'SKIP_LLVM=1', 'SKIP_LIBBFD=1', 'SKIP_CRYPTO=1',
    # Lists of BPF programs that belong to tests that are not here.
    'LINKED_SKELS=', 'LSKELS=', 'LSKELS_EXTRA=', 'LSKELS_SIGNED=',
    'LIBARENA_SKEL=', 'LIBARENA_ASAN_SKEL=',
    # Other programs that tests call; one of ours calls this one.
    'TRUNNER_EXTRA_FILES=$(OUTPUT)/urandom_read $(OUTPUT)/liburandom_read.so',
    'test_progs')
_RUN = ('test_progs', 'answers.so', 'urandom_read', 'liburandom_read.so')
_STEP = re.compile(r'  [A-Z][A-Z-]+ +(?:\[\w+\] )?(\S+)$')
_TEST = re.compile(r'^void (?:serial_)?test_(\w+)\(', re.MULTILINE)
_PROGRAM = re.compile(r'"[./]*(\w+)\.(?:skel\.h|bpf\.o)"')


def _needed() -> set[Path]:
    """The prog_tests/*.c of the chosen tests, and the progs/*.c that they load."""
    lines = (line.partition('#')[0].strip() for line in CHOSEN.read_text().splitlines())
    # A test is made with all of its parts.
    needed, missing = set(), {line.partition('/')[0] for line in lines if line}
    for path in sorted((env.TREE / _SELFTESTS / 'prog_tests').glob('*.c')):
        text = path.read_text()
        if defined := missing.intersection(_TEST.findall(text)):
            missing -= defined
            needed |= {path, *(env.TREE / _SELFTESTS / f'progs/{name}.c'
                               for name in _PROGRAM.findall(text))}
    if missing:
        raise env.Refusal(
            f'the tests of {CHOSEN.name} in {env.host(env.TREE / _SELFTESTS)}',
            f'none that is called {", ".join(sorted(missing))}',
            f'mend {env.host(CHOSEN)}')
    return needed


def _copied() -> Iterator[Path]:
    """The files of upstream's folder that are copied: not other tests' own."""
    needed = _needed()
    for path in sorted((env.TREE / _SELFTESTS).rglob('*')):
        place, *rest = path.relative_to((env.TREE / _SELFTESTS)).parts
        if path.is_file() and place not in _LEFT_OUT and (
                place not in ('prog_tests', 'progs') or path.suffix != '.c'
                or len(rest) > 1 or path in needed):
            yield path


def _tree(folder: Path) -> Path:
    """A tree in FOLDER for the Makefile, which makes anew what has changed."""
    tree = folder / 'tree'
    copies = {tree / path.relative_to(env.TREE): path for path in _copied()}
    # Lists of all tests that the Makefile wrote would still have these.
    if any(path not in copies for name in ('prog_tests', 'progs')
           for path in (tree / _SELFTESTS / name).glob('*.c')):
        shutil.rmtree(tree)
    for name in _BESIDE:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        if not (tree / name).is_symlink():
            (tree / name).symlink_to(env.TREE / name)
    for copy, path in copies.items():
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.exists() or copy.read_bytes() != path.read_bytes():
            shutil.copy(path, copy)
    return tree / _SELFTESTS


def _make(built: Built, place: Path, log: Path) -> str:
    """Run upstream's Makefile in PLACE; what was wrong, or nothing."""
    with progress.Stage(f'tests of BPF {built.name}', 2) as stage:
        def line(text: str) -> None:
            if match := _STEP.match(text):
                stage.tick(match[1])
        failed = procs.run(
            ['make', '-C', place, f'-j{env.jobs()}',
             f'VMLINUX_BTF={built.obj / "vmlinux"}', *_WORDS],
            log, on_line=line)
    failed = failed or procs.run(
        ['clang', '-shared', '-fPIC', '-O2', '-Wall', '-o',
         place / 'answers.so', _ANSWERS], log, append=True)
    return common.complaint(log) if failed else ''


def prepare(built: Built, names: Collection[str]) -> tuple[Path, dict[str, str]]:
    """Make the program for BUILT, if the case is among NAMES.

    Returns the folder of what its guest runs, and {case: why there is none}.
    """
    folder = env.WORK / 'bpf' / built.name
    out = env.empty_folder(folder / 'guest')
    if CASE not in names or built.arch != ARCH:
        return out, {}
    place = _tree(folder)
    if why := _make(built, place, folder / 'make.log'):
        return out, {CASE: why}
    for path in [*(place / name for name in _RUN), *sorted(place.glob('*.bpf.o'))]:
        shutil.copy2(path, out / path.name)
    return out, {}
