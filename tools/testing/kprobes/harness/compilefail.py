# SPDX-License-Identifier: GPL-2.0
"""Modules that the compiler must refuse, and in which words.

Each file in compile_fail/ is a module's source. Without --cfg refused it
compiles, with it it does not. Its head says how:

    //! error[E0061]: this function takes 3 arguments but 2 arguments were supplied
    //! says: argument #1 of type `&ProcessContext` is missing

There is no other error than those named, and each text that `says` names
stands in what the compiler says, as often as it is named. `emit: obj` is for
what is found out only when code is made. The flags are those that the kernel's
build has used for our crate, which are those of modules, so what is judged is
what a client sees.
"""

import re
import tempfile
from pathlib import Path

import env
import procs
from kernel import Built
from ktap import Result, verdict

FOLDER = env.KPROBES / 'compile_fail'
_ERROR = re.compile(r'^error(?:\[E\d+\])?: .*', re.M)
# How the compiler ends.
_SUM = re.compile(r'^error: (aborting due to|could not compile)')


def expected(text: str) -> tuple[set[str], list[str], str]:
    """(errors, what is said, what to emit) of a file's head."""
    head = [line[4:] for line in text.split('\n') if line.startswith('//! ')]

    def values(key: str) -> list[str]:
        return [line[len(key):] for line in head if line.startswith(key)]
    return ({line for line in head if _ERROR.match(line)}, values('says: '),
            ''.join(values('emit: ')) or 'metadata')


def judge(errors: set[str], says: list[str], output: str) -> list[str]:
    """The mismatches of the compiler's OUTPUT with its file's head."""
    actual = {line for line in _ERROR.findall(output) if not _SUM.match(line)}
    mismatches = [f'not said: {line}' for line in sorted(errors - actual)]
    mismatches += [f'not expected: {line}' for line in sorted(actual - errors)]
    mismatches += [f'not said: {text}' for text in dict.fromkeys(says)
                   if output.count(text) < says.count(text)]
    return mismatches


def saved(built: Built, name: str) -> str:
    """The command of a crate's build in the file NAME, without what it makes."""
    line = (built.obj / name).read_text().splitlines()[0].split(':=', 1)[1]
    return re.sub(r'--(out-dir|emit)[ =]\S+', '', line.split(' ;')[0])


def _compile(built: Built, path: Path, kind: str, refused: bool, folder: str) -> tuple[int, str]:
    """The status, and what the compiler says, with one of two names of bindings."""
    cfg = "--check-cfg='cfg(refused)'" + (' --cfg refused' if refused else '')
    # The flags of crates outside of rust/, without names.
    flags = re.sub(r'\S+/rust_kprobes\.rs|RUST_MODFILE=\S+', '',
                   saved(built, 'rust/kprobes/.rust_kprobes.o.cmd'))
    log = env.LOGS / f'compile-fail-{built.name}-{path.stem}.log'
    status = procs.run(
        ['sh', '-c', f'{flags} {cfg} -Awarnings --crate-name {path.stem}'
         f' --emit={kind} --out-dir {folder} {path}'],
        log, cwd=built.obj, extra={'RUSTC_BOOTSTRAP': '1'})
    # Its first line is the command.
    output = log.read_text(errors='replace').partition('\n')[2]
    return status, output.replace('<bindings::bindings_raw::', '<kernel::bindings::')


def _try(built: Built, path: Path, folder: str) -> list[str]:
    """The mismatches of the file PATH."""
    errors, says, kind = expected(path.read_text())
    if not errors or not says:
        return ['its head names no error, or nothing that is said']
    status, output = _compile(built, path, kind, False, folder)
    if status:
        return [f'it does not compile without --cfg refused: {output[:2000]}']
    status, output = _compile(built, path, kind, True, folder)
    if not status:
        return ['it compiles']
    return (mismatches := judge(errors, says, output)) and [*mismatches, output[:2000]]


def tests(built: Built) -> list[Result]:
    """A result for each file."""
    with tempfile.TemporaryDirectory() as folder:
        return [verdict(f'{built.arch}.rust.check-kernel.compile-fail.{path.stem}',
                        '\n'.join(_try(built, path, folder)),
                        env.host(env.LOGS / f'compile-fail-{built.name}-{path.stem}.log'))
                for path in sorted(FOLDER.glob('*.rs'))]
