# SPDX-License-Identifier: GPL-2.0
"""Where the kernel's source comes from.

In this order: the user's own tree (KSRC=), the cache, Debian's package that
came with the toolchain root, then the public archives listed in
toolchain/sources, each file with its SHA-256. Any 7.3.x will do.
"""

import contextlib
import errno
import hashlib
import http.client
import re
import shutil
import tempfile
import urllib.request
from pathlib import Path

import env
import ksrc
import procs
import progress

SERIES = (7, 3)
LIST = env.KPROBES / 'toolchain' / 'sources'
PACKAGED = Path('/opt/source')


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


def digest(path):
    """SHA-256 of a file."""
    with open(path, 'rb') as data:
        return hashlib.file_digest(data, 'sha256').hexdigest()


def entries(listing=None):
    """(sha256, url) from the list of archives."""
    for line in (listing or LIST).read_text().splitlines():
        if line and not line.startswith('#'):
            yield tuple(line.split())


def take(store, want, url, timeout=60):
    """URL into STORE: (its file, '') or, unless its SHA-256 is WANT, why not."""
    name = url.rsplit('/', 1)[1]
    part = store / (name + '.part')
    try:
        store.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(url, timeout=timeout) as answer, \
                open(part, 'wb') as out:
            shutil.copyfileobj(answer, out, 1 << 20)
        found = digest(part)
        if found == want:
            part.replace(store / name)
            return store / name, ''
    except (OSError, http.client.HTTPException) as error:
        full = getattr(error, 'errno', None) == errno.ENOSPC \
            or procs.no_space(store)
        part.unlink(missing_ok=True)
        if full:
            raise procs.full_disk(store) from error
        return None, f'{url}: {error}'
    part.unlink(missing_ok=True)
    return None, f'{url}: SHA-256 is {found}, not {want}'


def fetch(store, listing=None, timeout=60):
    """The first archive that answers with the right bytes, in STORE."""
    tried = []
    for want, url in entries(listing):
        path, reason = take(store, want, url, timeout)
        if path:
            return path
        tried.append(reason)
    raise env.Refusal(
        'the kernel source from one of the archives in '
        f'{env.host(listing or LIST)}',
        '\n            '.join(tried) or 'the list is empty',
        'is the network up (proxy variables)? Or give a 7.3 tree: KSRC=/path')


def archive(store=None, packaged=PACKAGED, listing=None):
    """The source archive: from the cache, the package, or an archive."""
    store = store or env.CACHE / 'source'
    if found := _kept(store, packaged):
        return found
    with procs.alone('source'):
        # Somebody else may have fetched it while we waited.
        return _kept(store, packaged) or fetch(store, listing)


def _numbers(path):
    """What tells which of two archives is newer: 7.3.10 is, than 7.3.4."""
    return [int(number) for number in re.findall('[0-9]+', path.name)]


def _kept(*places):
    for place in places:
        found = [*place.glob('linux-source-7.3_*.deb'),
                 *place.glob('linux-7.3*.tar.xz')]
        if found:
            return max(found, key=_numbers)
    return None


def _unpack(path, into):
    into.mkdir(parents=True)
    log = env.LOGS / 'unpack.log'
    if path.suffix == '.deb':
        status = procs.run(['sh', '-c',
                            'dpkg-deb --fsys-tarfile "$1" | '
                            'tar -xO ./usr/src/linux-source-7.3.tar.xz | '
                            'tar -xJ --strip-components=1 -C "$2"',
                            'unpack', path, into], log)
    else:
        status = procs.run(['tar', '-xJf', path, '--strip-components=1',
                            '-C', into], log)
    if status or not (into / 'Makefile').exists():
        if procs.no_space(env.WORK):
            raise procs.full_disk(env.WORK)
        if not path.exists():
            raise env.Refusal(f'{env.host(path)} to stay until it is unpacked',
                              'somebody has deleted it meanwhile',
                              'give the same command again: it is fetched '
                              'again, too')
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


def _refreshed(mark, now):
    """Could the copy of the user's tree that is there be brought up to date?"""
    if not (env.KSRC and mark.exists() and version(env.TREE)):
        return False
    # Gone as long as the tree is neither the old one nor the new one.
    mark.unlink()
    if not ksrc.refresh(env.TREE, env.WORK / 'orig'):
        return False
    mark.write_text(now)
    return True


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
        if _refreshed(mark, now):
            return env.TREE
        part = env.TREE.with_suffix('.part')
        for old in (part, env.TREE, env.WORK / 'orig'):
            if old.exists():
                stage.tick(f'deleting {old.name}', 0)
                shutil.rmtree(old)
        if env.KSRC:
            ksrc.copy(part)
        else:
            _unpack(archive(), part)
        require_version(part, 'the kernel source')
        (part / '.kprobes-source').write_text(now)
        part.rename(env.TREE)
    return env.TREE


@contextlib.contextmanager
def scratch(place=None):
    """A temporary directory beside the work, not in memory.

    Locked as long as somebody works in it: see clear_scratch().
    """
    place = place or env.WORK
    with contextlib.ExitStack() as stack:
        # Nobody may find it between the two steps.
        with procs.turn(place / 'scratch.lock', 'the cache', 'scratch'):
            folder = stack.enter_context(
                tempfile.TemporaryDirectory(dir=place))
            stack.enter_context(procs.turn(Path(folder), 'x', 'x'))
        yield folder


def clear_scratch(place=None):
    """Delete the temporary directories of who did not come to delete them."""
    place = place or env.WORK
    with procs.turn(place / 'scratch.lock', 'the cache', 'scratch'):
        for folder in place.glob('tmp????????'):
            if folder.is_dir() and not procs.held(folder):
                shutil.rmtree(folder, ignore_errors=True)
