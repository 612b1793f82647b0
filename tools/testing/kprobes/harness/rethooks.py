# SPDX-License-Identifier: GPL-2.0
"""Who else uses return hooks: what the kernel calls of <linux/rethook.h>.

The crate has of that header what others call, and no more. So each function
of it that is called outside of the C implementation must be in the kernel
that was built, also where the caller was not; and each file that knows of
return hooks must be named in returns.rst.
"""

import fnmatch
import re
from pathlib import Path

import env
import procs
from kernel import Built

_FOLDERS = ('block', 'crypto', 'drivers', 'fs', 'include', 'init', 'io_uring',
            'ipc', 'kernel', 'lib', 'mm', 'net', 'security', 'sound', 'virt')
# The C implementation, and C's return probes, which it was made for.
_THEIRS = ('include/linux/rethook.h', 'kernel/trace/rethook.c',
           'kernel/kprobes.c', 'arch/*/kernel/rethook*')
_OURS = ('arch/*/kprobes/*', 'rust/*')
_COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.S)
_CALLED = re.compile(r'\b((?:arch_)?rethook_\w+)\s*\(')
_TOLD = env.REPO / 'Documentation/trace/rust-kprobes/returns.rst'


def _files(tree: Path, folder: str) -> list[str]:
    """Files of TREE that have the word, of arch/ in FOLDER alone."""
    folders = [name for name in (*_FOLDERS, f'arch/{folder}')
               if (tree / name).is_dir()]
    return sorted(procs.output(['grep', '-rlI', 'rethook',
                                '--include=*.[chS]', *folders],
                               cwd=tree).split())


def users(tree: Path, folder: str) -> dict[str, set[str]]:
    """{file: the functions that it calls}, without the implementations."""
    calls = {}
    for name in _files(tree, folder):
        if any(fnmatch.fnmatch(name, theirs) for theirs in (*_THEIRS, *_OURS)):
            continue
        code = _COMMENT.sub('', (tree / name).read_text(errors='replace'))
        if 'rethook' in code:
            calls[name] = set(_CALLED.findall(code))
    return calls


def troubles(tree: Path, folder: str, symbols: set[str]) -> list[str]:
    """Functions that are called and not in SYMBOLS, and users untold of."""
    texts, told = [], _TOLD.read_text()
    for name, called in users(tree, folder).items():
        texts += [f'{name} calls {function}(), which the kernel does not have'
                  for function in sorted(called - symbols)]
        if name not in told:
            texts.append(f'{name} uses return hooks, and {_TOLD.name} does '
                         'not name it')
    return texts


def symbols(built: Built) -> set[str]:
    """The functions and variables of a built kernel."""
    return {line.split()[2] for line in
            (built.obj / 'System.map').read_text().splitlines()}
