# SPDX-License-Identifier: GPL-2.0
"""Other users of return hooks: the kernel's calls of <linux/rethook.h>.

The crate has of that header what others call, and no more. So each function
of it that is called outside of the C implementation must be in the kernel
that was built, also where the caller was not.
"""

import fnmatch
import re
from pathlib import Path

import procs
from kernel import Built

_FOLDERS = ('block', 'crypto', 'drivers', 'fs', 'include', 'init', 'io_uring',
            'ipc', 'kernel', 'lib', 'mm', 'net', 'security', 'sound', 'virt')
# The implementations, and C's return probes, which C's was made for.
_OTHERS = ('include/linux/rethook.h', 'kernel/trace/rethook.c',
           'kernel/kprobes.c', 'arch/*/kernel/rethook*', 'arch/*/kprobes/*',
           'rust/*')
_COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.S)
_CALLED = re.compile(r'\b((?:arch_)?rethook_\w+)\s*\(')


def troubles(tree: Path, folder: str, symbols: set[str]) -> list[str]:
    """Functions that are called and not in SYMBOLS.

    It looks at FOLDER alone of those in arch/ of TREE.
    """
    folders = [name for name in (*_FOLDERS, f'arch/{folder}')
               if (tree / name).is_dir()]
    texts = []
    for name in sorted(procs.output(
            ['grep', '-rlI', 'rethook', '--include=*.[chS]', *folders],
            cwd=tree).split()):
        code = _COMMENT.sub('', (tree / name).read_text(errors='replace'))
        if 'rethook' not in code or any(
                fnmatch.fnmatch(name, pattern) for pattern in _OTHERS):
            continue
        texts += [f'{name} calls {function}(), which the kernel does not have'
                  for function in sorted({*_CALLED.findall(code)} - symbols)]
    return texts


def symbols(built: Built) -> set[str]:
    """The functions and variables of a built kernel."""
    return {line.split()[2] for line in
            (built.obj / 'System.map').read_text().splitlines()}
