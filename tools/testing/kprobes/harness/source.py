# SPDX-License-Identifier: GPL-2.0
"""The kernel's source, of any 7.3.x.

It comes from the user's own tree (KSRC=), the cache, or Debian's package, in
this order.
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


def version(tree: Path) -> tuple[int, ...] | None:
    """(7, 3, 4) from the Makefile of TREE, or None."""
    try:
        head = (tree / 'Makefile').read_text(errors='replace')[:2000]
    except OSError:
        return None
    numbers = [re.findall(rf'^{name} = (\d+)$', head, re.M)
               for name in ('VERSION', 'PATCHLEVEL', 'SUBLEVEL')]
    return tuple(int(matches[0]) for matches in numbers) if all(numbers) else None


def require_version(tree: Path, name: str) -> tuple[int, ...]:
    """TREE's version, refused unless it is of our series."""
    actual = version(tree)
    if actual is None:
        raise env.Refusal(f'{name} to be a Linux source tree',
                          f'no version in {env.host(tree)}/Makefile',
                          'point it at the top of a kernel tree')
    if actual[:2] != SERIES:
        raise env.Refusal(
            f'{name} to be Linux {SERIES[0]}.{SERIES[1]}.x',
            '.'.join(map(str, actual)),
            f'use a {SERIES[0]}.{SERIES[1]} tree: the patches are made for it')
    return actual


def archive() -> Path:
    """The source archive: from the cache, or from Debian's archives."""
    store = env.CACHE / 'source'
    if kept := _kept(store):
        return kept
    with procs.alone('source'):
        # Somebody else may have fetched it while we waited.
        return _kept(store) or packages.fetch(
            'linux-source-7.3:all', store, ('trixie-backports',),
            'Or give a 7.3 tree: KSRC=/path. make host-test TEST=harness.* works without it')


def _kept(store: Path) -> Path | None:
    def numbers(path: Path) -> list[int]:
        """The version of an archive as numbers: 7.3.10 is newer than 7.3.4."""
        name = path.name.removeprefix('linux-source-7.3_')
        return [int(number) for number in re.findall('[0-9]+', name)]
    return max([*store.glob('linux-source-7.3_*.deb'),
                *store.glob('linux-7.3*.tar.xz')], key=numbers, default=None)


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
                          'delete that file and try again', env.host(log))


def identity() -> str:
    """The source that the tree must have been made from to be kept."""
    return ksrc.identity() if env.KSRC else f'archive {archive().name}'


def tree() -> Path:
    """This checkout's pristine-but-for-us kernel tree, made if need be."""
    if env.KSRC:
        require_version(env.KSRC, 'KSRC')
    mark = env.TREE / '.kprobes-source'
    now = identity()
    if mark.exists() and mark.read_text() == now:
        return env.TREE
    # Refused before the tree that is there goes.
    if env.KSRC and (env.KSRC / '.config').exists():
        raise env.Refusal('KSRC without a build in it',
                          f'{env.host(env.KSRC)}/.config',
                          'make mrproper there, or use a clean worktree')
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
