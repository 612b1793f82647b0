# SPDX-License-Identifier: GPL-2.0
"""The user's own kernel tree (KSRC=): has it changed, and our copy of it.

Builds never happen in the user's tree. The copy follows it file by file, so
that after an edit there only what the edit touched is compiled again. What
`make apply` has put into the user's tree is left out of the copy, which gets
ours like any other tree.
"""

import hashlib
from pathlib import Path

import env
import procs

# Not part of the source: history, and the record of `make apply`.
_OURS = ('.git', '.rust-kprobes')


def identity() -> str:
    """A digest of which files there are, of what size and time.

    A second for a kernel tree. git would tell less: it knows nothing of
    files that are not added, nor is every tree one of git's.
    """
    listing = procs.output(
        ['find', '.', *(word for name in _OURS for word in
                        ('-path', f'./{name}', '-prune', '-o')),
         '!', '-type', 'd', '-printf', r'%p %s %T@\n'],
        cwd=env.KSRC, errors='surrogateescape')
    digest = hashlib.sha256('\n'.join(sorted(listing.splitlines())).encode(
        errors='surrogateescape'))
    return f'KSRC {env.host(env.KSRC)} {digest.hexdigest()[:24]}'


def _rsync(into: Path, leave_out: set[str]) -> None:
    listing = env.WORK / 'ksrc-leave-out'
    listing.write_text(''.join(f'/{path}\n' for path in sorted(leave_out)))
    log = env.LOGS / 'unpack.log'
    # With the time of now: to make, a file that was put back with its old
    # time would be older than what was built from the one before.
    if procs.run(['rsync', '-a', '--no-times', '--checksum', '--delete',
                  '--prune-empty-dirs', f'--exclude-from={listing}',
                  f'{env.KSRC}/', f'{into}/'], log):
        raise env.Refusal(f'to copy {env.host(env.KSRC)}',
                          procs.tail(log, 3), 'see the lines above', env.host(log))


def follow(tree: Path, state: Path) -> None:
    """Make TREE the user's tree as it was before any `make apply`.

    Files of our overlay stay in TREE, but the originals of the files that it
    has patched, which are in its record STATE, become those of the user.
    """
    import overlay
    theirs = overlay.Target(env.KSRC, env.KSRC / '.rust-kprobes')
    overlay.refuse_edited(theirs)
    mine = overlay.Target(tree, state)
    # A file of the user's comes in the place of ours, which is refused later.
    for path in set(mine.files) - set(theirs.files):
        if (env.KSRC / path).exists():
            mine.forget(path)
    _rsync(tree, {*_OURS, *mine.files, *mine.patched, *theirs.files, *theirs.patched})
    for path in {*mine.patched, *theirs.patched}:
        into = (state / 'orig' if path in mine.patched else tree) / path
        into.parent.mkdir(parents=True, exist_ok=True)
        into.write_bytes(theirs.original(Path(path)))
