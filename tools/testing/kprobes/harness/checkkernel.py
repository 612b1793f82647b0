# SPDX-License-Identifier: GPL-2.0
"""make check-kernel: what only a built kernel can show."""

import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import compilefail
import complaints
import env
import procs
import progress
from kernel import Built
from ktap import Result, verdict


def _run(built: Built, name: str, command: Iterable, **options: Any) -> tuple[Path, int]:
    log = env.LOGS / f'check-kernel-{built.name}-{name}.log'
    status = procs.run(command, log, **options)
    return log, status


def _result(built: Built, name: str, log: Path, status: int) -> Result:
    return verdict(f'{built.arch}.rust.check-kernel.{name}',
                   procs.tail(log, 20) or 'it failed' if status else '', env.host(log))


_CFG = 'include/generated/rustc_cfg'
_TESTS = '--cfg=CONFIG_RUST_KPROBES_KUNIT_TEST'


def _as_clippy(built: Built, saved: str, folder: str) -> str:
    """The command of a crate's build, as that of clippy.

    It is the SAVED command with clippy's driver in rustc's place, which is
    all that CLIPPY=1 does; a build with CLIPPY=1 would compile the whole of
    rust/ twice, there and back. One that is unlike it fails, and says so.
    """
    words, replaced = re.subn(r' \S*rustc ', ' clippy-driver ',
                              compilefail.saved(built, saved), count=1)
    return f'{words} --emit=metadata --out-dir {folder}' if replaced \
        else f'echo no rustc in the saved command {saved}; false'


def _run_clippy(built: Built, name: str, saved: str, tests: bool = True,
                flags: str = '') -> tuple[Path, int]:
    """The log of clippy on a crate, compiled as the kernel build does; status.

    Without its TESTS, as everybody else has it, there may be what nobody uses.
    """
    with tempfile.TemporaryDirectory() as scratch:
        words = _as_clippy(built, saved, scratch)
        if not tests:
            cfg = (built.obj / _CFG).read_text().splitlines()
            plain = Path(scratch) / 'rustc_cfg'
            plain.write_text('\n'.join(line for line in cfg if not line.startswith(_TESTS)))
            words = re.sub(rf'@\S*{_CFG}', f'@{plain}', words)
        return _run(built, name, ['sh', '-c', f'{words} {flags}'], cwd=built.obj,
                    extra={'CLIPPY_CONF_DIR': str(built.tree),
                           'RUSTC_BOOTSTRAP': '1'})


def _clippy(built: Built, name: str = 'clippy', tests: bool = True) -> Result:
    """Our crate: not a warning."""
    return _result(built, name, *_run_clippy(
        built, name, 'rust/kprobes/.rust_kprobes.o.cmd', tests, '-Dwarnings'))


def _clippy_among(built: Built, name: str, saved: str) -> Result:
    """Our files in a crate that is the kernel's: not a warning about them."""
    log, status = _run_clippy(built, name, saved)
    ours = complaints.of_rust(log.read_text(errors='replace'), complaints.names())
    if status and not ours:
        return _result(built, name, log, status)
    return verdict(f'{built.arch}.rust.check-kernel.{name}', '\n'.join(ours), env.host(log))


# Flags that crates must agree on to be used together.
_AGREED = re.compile(r'-Z(sanitizer|retpoline|indirect-branch-cs-prefix)|-Cpanic='
                     r'|--target=.*(/target\.json|-none-|-gnueabi)')


def rustdoc(built: Built, out: Path | None = None) -> Result:
    """Our crate's pages, private items included, in OUT: without a warning."""
    saved = built.obj / 'rust/kprobes/.rust_kprobes.o.cmd'
    words = saved.read_text().splitlines()[0].split()
    flags = [*filter(_AGREED.match, words),
             '--document-private-items', '--edition=2021', '-Zunstable-options',
             '--extern', 'kernel', '--extern', 'pin_init', '--extern', 'zerocopy',
             '-L', built.obj / 'rust', '--sysroot=/dev/null', '--crate-type', 'rlib', '-Dwarnings',
             # A crate of the kernel image: its readers see private items.
             '-Arustdoc::private_intra_doc_links', '-Astable_features', '-Aunused_features',
             '-Zcrate-attr=no_std', '-Zcrate-attr=feature'
             '(arbitrary_self_types,asm_goto,generic_arg_infer,used_with_arg)',
             f'@{built.obj}/include/generated/rustc_cfg', '-o', out or env.WORK / 'rustdoc']
    return _result(built, 'rustdoc', *_run(
        built, 'rustdoc', ['rustdoc', *flags, built.tree / 'rust/kprobes/rust_kprobes.rs'],
        extra={'RUSTC_BOOTSTRAP': '1', 'OBJTREE': str(built.obj)}, cwd=built.obj))


def _objects(built: Built) -> list[Path]:
    """The folders of ours that put objects into BUILT."""
    # Kbuild makes an archive for each folder; these are empty.
    return [built.obj / 'rust/kprobes', *(
        archive.parent for archive in sorted(built.obj.glob('arch/*/kprobes/built-in.a'))
        if archive.read_bytes() not in (b'!<thin>\n', b'!<arch>\n'))]


def _script(built: Built, name: str, script: str, *words: object) -> Result:
    """The result of a SCRIPT beside the harness."""
    return _result(built, name, *_run(built, name, ['python3', env.KPROBES / script, *words]))


def run(built: Built, neutral: bool = True) -> list[Result]:
    """All checks of a built kernel; unless NEUTRAL, of its architecture alone."""
    hit_path, objects = 'check-hit-path.py', _objects(built)
    with progress.Stage(f'check-kernel {built.arch}', 3):
        results = [_script(built, 'hit-path', hit_path, built.obj / 'vmlinux'),
                   _script(built, 'text', hit_path, '--text-of', *objects)]
        if built.has('KASAN'):
            results.append(_script(built, 'kasan', 'check-kasan.py', *objects))
        results += [_clippy(built), rustdoc(built),
                    _clippy(built, 'clippy-without-tests', tests=False)]
        if neutral:
            results += [_clippy_among(built, 'clippy-kernel', 'rust/.kernel.o.cmd'),
                        _clippy_among(built, 'clippy-macros', 'rust/.libmacros.so.cmd')]
        if neutral and built.has('KRETPROBES'):
            results += compilefail.tests(built)
    return results
