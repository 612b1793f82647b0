# SPDX-License-Identifier: GPL-2.0
"""The user's own kernel tree (KSRC=): has it changed, and our copy of it.

Builds never happen in the user's tree. The copy follows it file by file, so
that after an edit there only what the edit touched is compiled again. What
`make apply` has put into the user's tree is left out of the copy, which gets
ours like any other tree.
"""

import hashlib
import os
import shutil
from pathlib import Path

import env
import procs

# Not part of the source: history, and the record of `make apply`.
_OURS = ('.git', '.rust-kprobes')


def _walk(folder: Path, below: str, digest: 'hashlib._Hash') -> None:
    with os.scandir(folder) as unsorted:
        entries = sorted(unsorted, key=lambda entry: entry.name)
    for entry in entries:
        name = below + entry.name
        if name in _OURS:
            continue
        if entry.is_dir(follow_symlinks=False):
            _walk(entry.path, name + '/', digest)
        else:
            state = entry.stat(follow_symlinks=False)
            digest.update(os.fsencode(
                f'{name}\0{state.st_size}\0{state.st_mtime_ns}\n'))


def identity() -> str:
    """A digest of which files there are, of what size and time.

    A second for a kernel tree. git would tell less: it knows nothing of
    files that are not added, nor is every tree one of git's.
    """
    digest = hashlib.sha256()
    _walk(env.KSRC, '', digest)
    return f'KSRC {env.host(env.KSRC)} {digest.hexdigest()[:24]}'


def _applied() -> tuple[set[str], dict[str, Path]]:
    """What `make apply` wrote: new files, and the originals of the others."""
    import overlay
    state = env.KSRC / '.rust-kprobes'
    target = overlay.Target(env.KSRC, state)
    overlay.refuse_edited(target)
    return set(target.files), {
        path: state / 'orig' / path for path in target.patched
        if (state / 'orig' / path).exists()}


def _rsync(into: Path, leave_out: set[str], *options: str) -> None:
    listing = env.WORK / 'ksrc-leave-out'
    listing.write_text(''.join(f'/{path}\n' for path in
                               sorted({*_OURS, *leave_out})))
    log = env.LOGS / 'unpack.log'
    # With the time of now: to make, a file that was put back with its old
    # time would be older than what was built from the one before.
    status = procs.run(['rsync', '-a', '--no-times', '--prune-empty-dirs',
                        f'--exclude-from={listing}', *options,
                        f'{env.KSRC}/', f'{into}/'], log)
    if status:
        if procs.no_space(env.WORK):
            raise procs.full_disk(env.WORK)
        raise env.Refusal(f'to copy {env.host(env.KSRC)}',
                          procs.tail(log, 3), 'see the lines above')


def _put(path: Path, into: Path) -> None:
    """PATH's bytes as INTO; not written where they are there already."""
    data = path.read_bytes()
    if into.exists() and into.read_bytes() == data:
        return
    into.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, into)


def copy(into: Path) -> None:
    """The user's tree as it was before any `make apply`, in INTO."""
    files, originals = _applied()
    into.mkdir(parents=True)
    _rsync(into, files | set(originals))
    for path, kept in originals.items():
        _put(kept, into / path)


def refresh(tree: Path, state: Path) -> bool:
    """Bring TREE, an earlier copy with our overlay in it, up to date.

    STATE is the overlay's record, with the originals of the files it has
    patched: those follow the user's, the patched ones are made from them
    later. False where only a new copy will do.
    """
    import overlay
    mine = overlay.Target(tree, state)
    files, originals = _applied()
    source = {path: originals.get(path, env.KSRC / path)
              for path in mine.patched}
    if any(not kept.exists() or not (state / 'orig' / path).exists()
           for path, kept in source.items()):
        return False
    if any((env.KSRC / path).exists() for path in set(mine.files) - files):
        return False
    _rsync(tree, {*mine.files, *mine.patched, *files, *originals},
           '--delete', '--checksum')
    for path, kept in source.items():
        _put(kept, state / 'orig' / path)
    for path in set(originals) - set(source):
        _put(originals[path], tree / path)
    return True
