# SPDX-License-Identifier: GPL-2.0
"""Judges of our decoder on the host, besides crates: LLVM, capstone, the kernel.

LLVM is the library that comes with the toolchain, capstone the one that comes
with QEMU. The kernel's decoder, insn.c, is compiled from the source tree that
is at hand, or from the few files of it that the archive is opened for. The
host tests get all as paths in their environment, and without that environment
leave these judges out.
"""

import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import arches
import env
import kernel
import procs
import progress
import source

# One for all checkouts: what is in it has its origin in its name.
STORE = env.CACHE / 'judges'
CAPSTONE = Path('/usr/lib/x86_64-linux-gnu/libcapstone.so.5')
SHIM = env.KPROBES / 'host' / 'insn_c.c'
# Older ones know less of APX.
OLDEST_LLVM = 22
_MACHINES = [machine for machine in map(arches.of, arches.NAMES) if machine.opcodes]
# For insn.c, and the kernel's lists of opcodes.
_NEEDED = ('tools/arch/x86', 'tools/include', *(
    str(Path(path).parent) for machine in _MACHINES for path in machine.opcodes
    if not (env.REPO / path).exists() and not path.startswith('tools/arch/x86/')))


def _llvm() -> Path:
    """The newest LLVM of the toolchain, as a shared library."""
    majors = {
        int(match[1]): path
        for path in Path('/usr/lib/x86_64-linux-gnu').glob('libLLVM*.so*')
        if (match := re.match(r'libLLVM(?:\.so\.|-)(\d+)', path.name))}
    if max(majors, default=0) < OLDEST_LLVM:
        raise env.Refusal(f'LLVM {OLDEST_LLVM} or later as a shared library',
                          ', '.join(map(str, sorted(majors))) or 'none',
                          'make distclean: the toolchain root is damaged')
    return majors[max(majors)]


def _source() -> Path:
    """A tree with the kernel's decoders and their tables in it."""
    if env.KSRC:
        return env.KSRC
    if (env.TREE / '.kprobes-source').exists():
        return env.TREE
    into = STORE / source.archive().stem
    if not all((into / part).exists() for part in _NEEDED):
        part = into.with_name(into.name + '.part')
        with progress.Stage('source of insn.c', 1):
            shutil.rmtree(part, ignore_errors=True)
            source.unpack(source.archive(), part, _NEEDED)
            shutil.rmtree(into, ignore_errors=True)
            part.rename(into)
    return into


def _insn_c() -> Path:
    """The kernel's decoder as a shared library."""
    tree = _source()
    parts = [SHIM, *sorted((tree / 'tools/arch/x86/lib').glob('*.[ct]*'))]
    stamp = hashlib.sha256(b''.join(p.read_bytes() for p in parts))
    made = STORE / f'insn_c-{stamp.hexdigest()[:12]}.so'
    if made.exists():
        return made
    lib = tree / 'tools/arch/x86/lib'
    generator = tree / 'tools/arch/x86/tools/gen-insn-attr-x86.awk'
    with tempfile.TemporaryDirectory() as scratch:
        tables = Path(scratch) / 'inat-tables.c'
        tables.write_bytes(subprocess.check_output(
            ['awk', '-f', generator, lib / 'x86-opcode-map.txt']))
        part = STORE / 'insn_c.part'
        log = env.LOGS / 'judges-build.log'
        status = procs.run(
            ['gcc', '-O2', '-shared', '-fPIC', '-w', f'-I{scratch}',
             f'-I{tree}', f'-I{tree}/tools/arch/x86/include',
             f'-I{tree}/tools/include', '-o', part, SHIM], log)
        if status:
            raise env.Refusal('the kernel\'s insn.c to compile for the host',
                              procs.tail(log, 8), 'is the tree a 7.3 tree?', env.host(log))
        part.replace(made)
    return made


def tables() -> dict[str, str]:
    """Where Cargo finds the opcode tables that Kbuild generates."""
    made = env.WORK / 'objtree/rust/kprobes'
    made.mkdir(parents=True, exist_ok=True)
    STORE.mkdir(exist_ok=True)
    with procs.alone('judges'):
        tree = _source()
        for machine in _MACHINES:
            table = made / f'{machine.folder}_opcodes_generated.rs'
            generator = env.REPO / 'arch' / machine.folder / 'kprobes/isa/gen-opcodes.awk'
            text = subprocess.check_output(['awk', '-f', generator, *(
                place if (place := env.REPO / path).exists() else tree / path
                for path in machine.opcodes)])
            # Cargo compiles again what is newer.
            if not table.exists() or table.read_bytes() != text:
                table.write_bytes(text)
    return {'OBJTREE': str(env.WORK / 'objtree')}


def images() -> list[Path]:
    """The built kernels that there is a back end for: vmlinux and modules."""
    return [path for arch in env.SUPPORTED for image in kernel.images('*', arch)
            for path in (image, *sorted(image.parent.rglob('*.ko')))]


def environment() -> dict[str, str]:
    """For the host tests."""
    made = tables()
    with procs.alone('judges'):
        return {**made,
                'KPROBES_CAPSTONE': str(CAPSTONE),
                'KPROBES_INSN_C': str(_insn_c()),
                'KPROBES_LLVM': str(_llvm())}
