# SPDX-License-Identifier: GPL-2.0
"""Our files and patches in a kernel tree, and out of it again.

The overlay is copied file by file and the patches are applied to the original
text of the files they touch; only what differs is written, so that a build
after an edit compiles what the edit touched and no more. What we wrote is
recorded beside it, with the originals: a file that leaves the repository
leaves the tree, and a patched file that no patch touches any more is as it
was. No overlay file may take the place of one that the kernel has.
"""

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import env
import procs
import source

LIST = env.KPROBES / 'overlay.list'
PATCHES = env.REPO / 'patches'
# Editors' leftovers and what a build leaves, as in .gitignore.
_SKIP = re.compile(r'~$|^\.|\.(orig|rej|o|ko|mod|mod\.c|cmd)$|'
                   r'^(__pycache__|target|modules\.order|Module\.symvers)$')


def files(repo: Path = env.REPO, listing: Path = LIST) -> list[Path]:
    """Every file of the overlay, as a path relative to the tree."""
    paths = []
    for root in listing.read_text().splitlines():
        if not root or root.startswith('#'):
            continue
        if not (repo / root).is_dir():
            raise env.Refusal(
                f'the folder {root}, which {listing.name} names',
                f'none in {env.host(repo)}', 'mend that line')
        for folder, below, names in os.walk(repo / root):
            below[:] = [name for name in below if not _SKIP.search(name)]
            paths += [(Path(folder) / name).relative_to(repo)
                      for name in names if not _SKIP.search(name)]
    return sorted(paths)


def patches(folder: Path = PATCHES) -> list[Path]:
    """The patches, in order."""
    return sorted(folder.glob('*.patch'))


def touched(patch: Path) -> list[Path]:
    """The existing files that PATCH changes."""
    # A removed line that begins with dashes is not a file.
    names = re.findall(r'^(?:---|\+\+\+) [ab]/(\S+)', patch.read_text(errors='replace'), re.M)
    return [Path(name) for name in dict.fromkeys(names)]


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Target:
    """A kernel tree that we change; what we did to it stands in STATE."""

    def __init__(self, tree: Path, state: Path, repo: Path = env.REPO,
                 listing: Path = LIST) -> None:
        self.tree, self.state, self.repo = tree, state, repo
        self.listing = listing
        self.record = state / 'overlay.json'
        known = env.read_json(self.record) or {'files': {}, 'patched': {}}
        self.files, self.patched = known['files'], known['patched']

    def _save(self) -> None:
        env.write_json(self.record, {'files': self.files, 'patched': self.patched})

    def forget(self, path: str) -> None:
        """The file PATH of the overlay is not ours any more."""
        del self.files[path]
        self._save()

    def original(self, path: Path) -> bytes:
        """The text of PATH before we touched it."""
        kept = self._kept(path)
        if str(path) in self.patched and kept.exists():
            return kept.read_bytes()
        try:
            return (self.tree / path).read_bytes()
        except OSError as error:
            raise env.Refusal(
                f'{path} in the kernel tree, which a patch changes',
                f'{error.strerror}: {env.host(self.tree / path)}',
                'is this a complete 7.3 tree?') from error

    def wanted_patched(self) -> dict[Path, bytes]:
        """The patched files, computed without a write into the tree."""
        wanted: dict[Path, bytes] = {}
        with tempfile.TemporaryDirectory() as folder:
            scratch = Path(folder)
            for patch in patches(self.repo / 'patches'):
                for path in touched(patch):
                    if path not in wanted:
                        wanted[path] = b''
                        (scratch / path).parent.mkdir(parents=True, exist_ok=True)
                        (scratch / path).write_bytes(self.original(path))
                done = subprocess.run(
                    ['patch', '-p1', '--forward', '--fuzz=0', '--batch',
                     '--no-backup-if-mismatch', '-d', scratch, '-i', patch],
                    text=True, capture_output=True, check=False)
                if done.returncode:
                    raise env.Refusal(
                        f'patches/{patch.name} to fit the kernel tree',
                        done.stdout.strip().replace('\n', '\n            '),
                        'use an unmodified 7.3 tree, or refresh that patch '
                        'for this one')
            for path in wanted:
                wanted[path] = (scratch / path).read_bytes()
        return wanted

    def wanted_files(self) -> dict[Path, bytes]:
        """The overlay; refuses what the kernel has itself."""
        wanted = {}
        for path in files(self.repo, self.listing):
            if str(path) not in self.files and (self.tree / path).exists():
                raise env.Refusal(
                    'no overlay file to replace one that the kernel has',
                    f'{path} is in both',
                    'rename it, or change the kernel\'s file by a patch '
                    'in patches/')
            wanted[path] = (self.repo / path).read_bytes()
        return wanted

    def changed_by_others(self) -> list[str]:
        """Files that we wrote and somebody else has edited since."""
        edited = []
        for path, sha in {**self.files, **self.patched}.items():
            if sha and (self.tree / path).exists():
                data = (self.tree / path).read_bytes()
                kept = self._kept(path)
                # Somebody who put the original back has undone our work.
                if _sha(data) != sha and not (kept.exists() and kept.read_bytes() == data):
                    edited.append(path)
        return edited

    def _kept(self, path: Path | str) -> Path:
        """The place where the original of PATH is kept."""
        return self.state / 'orig' / path

    def sync(self, remove: bool = False) -> list[str]:
        """Make the tree as the repository wants it; returns what changed.

        Everything is computed and checked before the first write.
        """
        patched = {} if remove else self.wanted_patched()
        overlay = {} if remove else self.wanted_files()
        changed = []
        stale = [Path(p) for p in self.files if Path(p) not in overlay]
        restore = [Path(p) for p in self.patched if Path(p) not in patched]
        # Recorded first: after an interruption the next run knows every
        # file that may be ours, and which originals are kept. A file about
        # to change has no known sum until it has changed, or our own write
        # would look like somebody else's edit.
        for path in patched:
            kept = self._kept(path)
            if str(path) not in self.patched or not kept.exists():
                kept.parent.mkdir(parents=True, exist_ok=True)
                part = kept.with_name(kept.name + '.part')
                shutil.copy2(self.tree / path, part)
                part.replace(kept)
            if self.patched.get(str(path)) != _sha(patched[path]):
                self.patched[str(path)] = ''
        for path in overlay:
            if self.files.get(str(path)) != _sha(overlay[path]):
                self.files[str(path)] = ''
        for path in restore:
            self.patched[str(path)] = ''
        self._save()
        for path, data in {**patched, **overlay}.items():
            if self._write(path, data):
                changed.append(f'{"M" if path in patched else "A"} {path}')
            known = self.patched if path in patched else self.files
            known[str(path)] = _sha(data)
        for path in stale:
            (self.tree / path).unlink(missing_ok=True)
            self._part(path).unlink(missing_ok=True)
            self._prune(path.parent)
            del self.files[str(path)]
            changed.append(f'D {path}')
        for path in restore:
            kept = self._kept(path)
            self._part(path).unlink(missing_ok=True)
            if kept.exists():
                self._write(path, kept.read_bytes())
                kept.unlink()
            del self.patched[str(path)]
            changed.append(f'R {path}')
        self._save()
        return changed

    def _part(self, path: Path) -> Path:
        target = self.tree / path
        return target.with_name(target.name + '.kprobes-part')

    def _write(self, path: Path, data: bytes) -> bool:
        target = self.tree / path
        if target.is_file() and target.read_bytes() == data:
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        part = self._part(path)
        part.write_bytes(data)
        shutil.copymode(target if target.exists() else self.repo / path, part)
        part.replace(target)
        return True

    def _prune(self, folder: Path) -> None:
        """Delete FOLDER and what it is in, as far as they are empty."""
        with contextlib.suppress(OSError):
            for empty in (folder, *folder.parents[:-1]):
                (self.tree / empty).rmdir()


def sync() -> list[str]:
    """Bring this checkout's tree up to date; returns what changed."""
    return Target(source.tree(), env.WORK / 'orig').sync()


def refuse_edited(target: Target) -> None:
    """Refuse if somebody else has edited what we wrote into TARGET."""
    if edited := target.changed_by_others():
        raise env.Refusal(
            'the files that an earlier apply wrote to be as it left them',
            ', '.join(edited),
            'bring those edits into this repository, or undo them')


def apply(remove: bool = False) -> int:
    """make apply: the same into the user's own tree."""
    if not env.KSRC:
        raise env.Refusal('KSRC= the kernel tree to change', 'no KSRC',
                          'make apply KSRC=/path/to/linux-7.3')
    source.require_version(env.KSRC, 'KSRC')
    # The second one is for who cleans up, and knows of no tree.
    with procs.turn(env.KSRC, env.host(env.KSRC), 'apply'), \
            procs.turn(env.WORK / 'apply.lock', 'this checkout', 'make apply'):
        return _apply(env.KSRC, remove)


def _apply(tree: Path, remove: bool) -> int:
    target = Target(tree, tree / '.rust-kprobes')
    refuse_edited(target)
    try:
        changed = target.sync(remove)
    except OSError as error:
        raise env.Refusal(
            f'to write below {env.host(tree)}', str(error),
            'make room there, or see to the file; then the same command goes '
            'on, or UNDO=1 takes out what is there') from error
    for line in changed:
        print(line)
    if remove:
        shutil.rmtree(tree / '.rust-kprobes', ignore_errors=True)
        print(f'{len(changed)} files put back in {env.host(tree)}')
        return 0
    print(f'{len(changed)} files changed in {env.host(tree)} '
          '(A added, M patched, D removed, R put back).'
          if changed else f'{env.host(tree)} is up to date.')
    print('Now: select CONFIG_RUST_KPROBES in its configuration. '
          'To take everything out again: make apply KSRC=… UNDO=1')
    return 0
