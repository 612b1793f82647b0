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

import env
import procs
import progress

CASE = 'upstream/bpf'
CHOSEN = env.KPROBES / 'clients/upstream/bpf.tests'
# It answers what they ask of a kernel and ours has not.
_ANSWERS = env.KPROBES / 'clients/upstream/bpf.c'
KMODS = 'tools/testing/selftests/bpf/test_kmods'
_SELFTESTS = 'tools/testing/selftests/bpf'
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
_ERROR = re.compile(r'.*\berror: |make.*\*\*\* |.*: undefined reference')
_TEST = re.compile(r'^void (?:serial_)?test_(\w+)\(', re.MULTILINE)
_PROGRAM = re.compile(r'"[./]*(\w+)\.(?:skel\.h|bpf\.o)"')


def tests():
    """The names of the tests that are chosen, without their parts."""
    lines = (line.partition('#')[0].strip()
             for line in CHOSEN.read_text().splitlines())
    return sorted({line.partition('/')[0] for line in lines if line})


def _folder():
    return env.TREE / _SELFTESTS


def _needed():
    """The prog_tests/*.c of the tests, and the progs/*.c that they load."""
    found, left = set(), set(tests())
    for path in sorted((_folder() / 'prog_tests').glob('*.c')):
        text = path.read_text()
        if here := left.intersection(_TEST.findall(text)):
            left -= here
            found.add(path)
            found |= {_folder() / f'progs/{name}.c'
                      for name in _PROGRAM.findall(text)}
    if left:
        raise env.Refusal(
            f'the tests of {CHOSEN.name} in {env.host(_folder())}',
            f'none that is called {", ".join(sorted(left))}',
            f'mend {env.host(CHOSEN)}')
    return found


def _copied():
    """What of upstream's folder is copied; all but other tests' own."""
    needed = _needed()
    for path in sorted(_folder().rglob('*')):
        place, *rest = path.relative_to(_folder()).parts
        if not path.is_file() or place in _LEFT_OUT:
            continue
        if (place not in ('prog_tests', 'progs') or path.suffix != '.c'
                or len(rest) > 1 or path in needed):
            yield path


def _sources():
    """All that the program is made of, but for the kernel's types, as a word."""
    digest = hashlib.sha256('\0'.join(_WORDS).encode())
    digest.update(procs.output(['clang', '--version']).encode())
    digest.update(_ANSWERS.read_bytes())
    paths = [*_copied(), *(path for name in _COMPILED for path in sorted(
        (env.TREE / name).rglob('*.[ch]')))]
    for path in paths:
        content = path.read_bytes()
        digest.update(f'{path.relative_to(env.TREE)} {len(content)}\n'.encode())
        digest.update(content)
    return digest.hexdigest()


def _types(built):
    """The kernel's BTF, which BPF programs take its types from, as a word."""
    part = env.WORK / 'bpf/types.part'
    procs.output(['llvm-objcopy', '--output-target=binary',
                  '--only-section=.BTF', built.obj / 'vmlinux', part])
    found = hashlib.sha256(part.read_bytes()).hexdigest()
    part.unlink()
    return found


def _tree(sources):
    """A tree for the Makefile, as it was left if it is of these SOURCES."""
    tree = env.WORK / 'bpf/tree'
    stamp = env.WORK / 'bpf/tree.of'
    if not (stamp.exists() and stamp.read_text() == sources):
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


def complaint(log):
    """The line of a log that tells first what was wrong."""
    lines = [line.strip() for line in
             log.read_text(errors='replace').splitlines()[1:] if line.strip()]
    return next((line for line in lines if _ERROR.match(line)),
                lines[-1] if lines else 'no word')[:300]


def _make(built, place, log):
    """Run upstream's Makefile in PLACE; what was wrong, or nothing."""
    # make would keep the types of another kernel, if that is the younger one.
    (place / 'tools/include/vmlinux.h').unlink(missing_ok=True)
    with progress.Stage(f'tests of BPF {built.name}', 2) as stage:
        def line(text):
            if match := _STEP.match(text):
                stage.tick(match[1])
        status = procs.run(
            ['make', '-C', place, f'-j{env.jobs()}',
             f'VMLINUX_BTF={built.obj / "vmlinux"}', *_WORDS],
            log, on_line=line)
    if not status:
        status = procs.run(
            ['clang', '-shared', '-fPIC', '-O2', '-Wall', '-o',
             place / 'answers.so', _ANSWERS], log, append=True)
    if not status:
        return ''
    if procs.no_space(env.WORK):
        raise procs.full_disk(env.WORK)
    return complaint(log)


def prepare(built, names):
    """Make the program for BUILT, if the case is among NAMES.

    Returns the folder of what its guest runs, and {case: why there is none}.
    """
    out = env.WORK / 'bpf' / built.name
    out.mkdir(parents=True, exist_ok=True)
    if CASE not in names:
        return out, {}
    sources = _sources()
    now = f'{sources} {_types(built)}'
    stamp = out.with_suffix('.of')
    if stamp.exists() and stamp.read_text() == now:
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
    stamp.write_text(now)
    return out, {}
