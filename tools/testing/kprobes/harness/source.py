# SPDX-License-Identifier: GPL-2.0
"""Where the kernel's source comes from.

In this order: the user's own tree (KSRC=), the cache, Debian's package. Any
7.3.x will do.
"""

import re
import shutil
from pathlib import Path

import env
import ksrc
import packages
import procs
import progress

SERIES = (7, 3)


def version(tree):
    """(7, 3, 4) from the Makefile of TREE, or None."""
    try:
        head = (tree / 'Makefile').read_text(errors='replace')[:2000]
    except OSError:
        return None
    found = [re.search(rf'^{name} = (\d+)$', head, re.M)
             for name in ('VERSION', 'PATCHLEVEL', 'SUBLEVEL')]
    return tuple(int(m[1]) for m in found) if all(found) else None


def require_version(tree, what):
    """TREE's version, refused unless it is of our series."""
    found = version(tree)
    if found is None:
        raise env.Refusal(f'{what} to be a Linux source tree',
                          f'no version in {env.host(tree)}/Makefile',
                          'point it at the top of a kernel tree')
    if found[:2] != SERIES:
        raise env.Refusal(
            f'{what} to be Linux {SERIES[0]}.{SERIES[1]}.x',
            '.'.join(map(str, found)),
            f'use a {SERIES[0]}.{SERIES[1]} tree: the patches are made for it')
    return found


def archive() -> Path:
    """The source archive: from the cache, or from Debian's archives."""
    store = env.CACHE / 'source'
    if found := _kept(store):
        return found
    with procs.alone('source'):
        # Somebody else may have fetched it while we waited.
        return _kept(store) or packages.fetch(
            'linux-source-7.3:all', store, ('trixie-backports',),
            'Or give a 7.3 tree: KSRC=/path')


def _numbers(path):
    """What tells which of two archives is newer: 7.3.10 is, than 7.3.4."""
    name = path.name.removeprefix('linux-source-7.3_')
    return [int(number) for number in re.findall('[0-9]+', name)]


def _kept(store):
    return max([*store.glob('linux-source-7.3_*.deb'),
                *store.glob('linux-7.3*.tar.xz')], key=_numbers, default=None)


def unpack(path: Path, into: Path, folders: tuple[str, ...] = ()) -> None:
    """The kernel's source, or these FOLDERS of it, out of its archive."""
    into.mkdir(parents=True)
    log = env.LOGS / f'unpack-{into.name}.log'
    read = 'cat "$1"' if path.suffix != '.deb' else (
        'dpkg-deb --fsys-tarfile "$1" | '
        'tar -xO ./usr/src/linux-source-7.3.tar.xz')
    status = procs.run(
        ['sh', '-c', f'{read} | {{ into=$2; shift 2; tar -xJ -C "$into" '
         '--strip-components=1 --wildcards "$@"; }', 'unpack', path, into,
         *(f'*/{name}/*' for name in folders)], log)
    if status or not any(into.iterdir()):
        raise env.Refusal(f'{env.host(path)} to unpack',
                          procs.tail(log, 3) or f'exit status {status}',
                          'delete that file and try again')


def _without_build():
    if (env.KSRC / '.config').exists():
        raise env.Refusal('KSRC without a build in it',
                          f'{env.host(env.KSRC)}/.config',
                          'make mrproper there, or use a clean worktree')


def identity():
    """What the tree must have been made from to be kept."""
    return ksrc.identity() if env.KSRC else f'archive {archive().name}'


def tree():
    """This checkout's pristine-but-for-us kernel tree, made if need be."""
    if env.KSRC:
        require_version(env.KSRC, 'KSRC')
    mark = env.TREE / '.kprobes-source'
    now = identity()
    try:
        if mark.read_text() == now:
            return env.TREE
    except OSError:
        pass
    # Refused before the tree that is there goes.
    if env.KSRC:
        _without_build()
    with progress.Stage('source', planned=1) as stage:
        # Gone as long as the tree is neither the old one nor the new one.
        mark.unlink(missing_ok=True)
        if env.KSRC:
            ksrc.follow(env.TREE, env.WORK / 'orig')
        else:
            for old in (env.TREE, env.WORK / 'orig'):
                if old.exists():
                    stage.tick(f'deleting {old.name}', 0)
                    shutil.rmtree(old)
            unpack(archive(), env.TREE)
            require_version(env.TREE, 'the kernel source')
        mark.write_text(now)
    return env.TREE
