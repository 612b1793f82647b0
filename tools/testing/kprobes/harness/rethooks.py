# SPDX-License-Identifier: GPL-2.0
"""Who else uses return hooks: what the kernel calls of <linux/rethook.h>.

The crate has of that header what others call, and no more. So each function
of it that is called outside of the C implementation must be in the kernel
that was built, also where the caller was not; and each file that knows of
return hooks must be named in returns.rst.
"""

import fnmatch
import re

import env
import procs

_FOLDERS = ('block', 'crypto', 'drivers', 'fs', 'include', 'init', 'io_uring',
            'ipc', 'kernel', 'lib', 'mm', 'net', 'security', 'sound', 'virt')
# The C implementation, and C's return probes, which it was made for.
_THEIRS = ('include/linux/rethook.h', 'kernel/trace/rethook.c',
           'kernel/kprobes.c', 'arch/*/kernel/rethook*')
_OURS = ('arch/*/kprobes/*', 'rust/*')
_COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.S)
_CALLED = re.compile(r'\b((?:arch_)?rethook_\w+)\s*\(')
_TOLD = env.REPO / 'Documentation/trace/rust-kprobes/returns.rst'


def _mentioning(tree, arch):
    """Files of TREE that have the word, for that folder of arch/."""
    folders = [folder for folder in (*_FOLDERS, f'arch/{arch}')
               if (tree / folder).is_dir()]
    said = procs.output(['grep', '-rlI', 'rethook', '--include=*.[chS]',
                         *folders], cwd=tree)
    return sorted(said.split())


def users(tree, arch):
    """{file: the functions that it calls}, without the implementations."""
    found = {}
    for name in _mentioning(tree, arch):
        if any(fnmatch.fnmatch(name, one) for one in (*_THEIRS, *_OURS)):
            continue
        code = _COMMENT.sub('', (tree / name).read_text(errors='replace'))
        if 'rethook' in code:
            found[name] = set(_CALLED.findall(code))
    return found


def troubles(tree, arch, symbols):
    """What is called and not among SYMBOLS, and who is not told of: texts."""
    found, told = [], _TOLD.read_text()
    for name, called in users(tree, arch).items():
        found += [f'{name} calls {function}(), which the kernel does not have'
                  for function in sorted(called - symbols)]
        if name not in told:
            found.append(f'{name} uses return hooks, and {_TOLD.name} does '
                         'not name it')
    return found


def symbols(built):
    """The functions and variables of a built kernel."""
    lines = (built.obj / 'System.map').read_text().splitlines()
    return {line.split()[2] for line in lines}
