# SPDX-License-Identifier: GPL-2.0
"""Upstream's own tests of BPF for make test-clients: those that use kprobes.

tools/testing/selftests/bpf makes one program of all its tests, with several
hundred BPF programs. Here it makes one of a copy that has only the tests that
clients/upstream/bpf.tests names, and the BPF programs that these load; what is
there, is as upstream has it, its Makefile as well.
"""

import hashlib
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
CHOSEN = common.FOLDER / 'upstream/bpf.tests'
# It answers what they ask of a kernel and ours has not.
_ANSWERS = common.FOLDER / 'upstream/bpf.c'
_SELFTESTS = 'tools/testing/selftests/bpf'
KMODS = f'{_SELFTESTS}/test_kmods'
# The Makefile's other programs are of these, and the BPF programs' own too.
_LEFT_OUT = ('verifier', 'map_tests', 'benchs')
# What of the kernel tree the Makefile finds beside it.
_BESIDE = ('tools/arch', 'tools/bpf', 'tools/build', 'tools/include',
           'tools/lib', 'tools/scripts', 'tools/testing/selftests/lib.mk')
# The parts of it that get into the program, too.
_COMPILED = ('tools/bpf', 'tools/lib/bpf')
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


def tests() -> list[str]:
    """The names of the tests that are chosen, without their parts."""
    lines = (line.partition('#')[0].strip()
             for line in CHOSEN.read_text().splitlines())
    return sorted({line.partition('/')[0] for line in lines if line})


def _folder() -> Path:
    return env.TREE / _SELFTESTS


def _needed() -> set[Path]:
    """The prog_tests/*.c of the tests, and the progs/*.c that they load."""
    needed, missing = set(), set(tests())
    for path in sorted((_folder() / 'prog_tests').glob('*.c')):
        text = path.read_text()
        if here := missing.intersection(_TEST.findall(text)):
            missing -= here
            needed |= {path, *(_folder() / f'progs/{name}.c'
                               for name in _PROGRAM.findall(text))}
    if missing:
        raise env.Refusal(
            f'the tests of {CHOSEN.name} in {env.host(_folder())}',
            f'none that is called {", ".join(sorted(missing))}',
            f'mend {env.host(CHOSEN)}')
    return needed


def _copied() -> Iterator[Path]:
    """What of upstream's folder is copied; all but other tests' own."""
    needed = _needed()
    for path in sorted(_folder().rglob('*')):
        place, *rest = path.relative_to(_folder()).parts
        if path.is_file() and place not in _LEFT_OUT and (
                place not in ('prog_tests', 'progs') or path.suffix != '.c'
                or len(rest) > 1 or path in needed):
            yield path


def _sources() -> str:
    """All but the kernel's types that the program is made of, as a word."""
    digest = hashlib.sha256('\0'.join(_WORDS).encode())
    digest.update(procs.output(['clang', '--version']).encode())
    digest.update(_ANSWERS.read_bytes())
    for path in [*_copied(), *(path for name in _COMPILED for path in sorted(
            (env.TREE / name).rglob('*.[ch]')))]:
        content = path.read_bytes()
        name = path.relative_to(env.TREE)
        digest.update(f'{name} {len(content)}\n'.encode() + content)
    return digest.hexdigest()


def _types(built: Built) -> str:
    """The kernel's BTF, which BPF programs take its types from, as a word."""
    part = env.WORK / 'bpf/types.part'
    procs.output(['llvm-objcopy', '--output-target=binary',
                  '--only-section=.BTF', built.obj / 'vmlinux', part])
    digest = hashlib.sha256(part.read_bytes()).hexdigest()
    part.unlink()
    return digest


def _tree(sources: str) -> Path:
    """A tree for the Makefile, as it was left if it is of these SOURCES."""
    tree, stamp = env.WORK / 'bpf/tree', env.WORK / 'bpf/tree.of'
    if not common.made_of(stamp, sources):
        stamp.unlink(missing_ok=True)
        shutil.rmtree(tree, ignore_errors=True)
        for name in _BESIDE:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).symlink_to(env.TREE / name)
        for path in _copied():
            copy = tree / path.relative_to(env.TREE)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
        stamp.write_text(sources)
    return tree / _SELFTESTS


def _make(built: Built, place: Path, log: Path) -> str:
    """Run upstream's Makefile in PLACE; what was wrong, or nothing."""
    # make would keep the types of another kernel, if that is the younger one.
    (place / 'tools/include/vmlinux.h').unlink(missing_ok=True)
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


def prepare(built: Built, names: Collection[str]
            ) -> tuple[Path, dict[str, str]]:
    """Make the program for BUILT, if the case is among NAMES.

    Returns the folder of what its guest runs, and {case: why there is none}.
    """
    out = env.WORK / 'bpf' / built.name
    out.mkdir(parents=True, exist_ok=True)
    if CASE not in names:
        return out, {}
    sources = _sources()
    digest, stamp = f'{sources} {_types(built)}', out.with_suffix('.of')
    if common.made_of(stamp, digest):
        return out, {}
    stamp.unlink(missing_ok=True)
    place = _tree(sources)
    if why := _make(built, place, out.with_suffix('.log')):
        return out, {CASE: why}
    shutil.rmtree(out)
    out.mkdir()
    for path in [*(place / name for name in _RUN),
                 *sorted(place.glob('*.bpf.o'))]:
        shutil.copy2(path, out / path.name)
    stamp.write_text(digest)
    return out, {}
