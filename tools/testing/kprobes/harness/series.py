# SPDX-License-Identifier: GPL-2.0
"""make series KSRC=path: overlay and patches as mails for `git am`.

First the new files, group by group as `series.list` says, then the patches
in order. Each mail must satisfy checkpatch.pl --strict, but for the one BUG()
that we stand by, and after each of them
the tree is built for x86_64 with bench.config: with the implementation in C,
and, from the mail on after which RUST_KPROBES can be selected, with the one in
Rust as well. Each of the two has objects of its own, so that a mail costs what
it touches. FAST=1 leaves the builds out.
"""

import fnmatch
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import env
import fragments
import kernel
import overlay
import procs
import progress
import source
import toolchain

LIST = env.KPROBES / 'series.list'
WHO = ('Rust kprobes developers '
       '<maintainers@users.noreply.a-seed-1b4b8125.example>')


def groups() -> list[tuple[str, str, list[str]]]:
    """(subject, body, prefixes of paths) of each group of series.list."""
    parts: list[tuple[str, list[str], list[str]]] = []
    for line in LIST.read_text().splitlines():
        if line.startswith('== '):
            parts.append((line[3:], [], []))
        elif line.startswith(': ') and parts:
            parts[-1][2].append(line[2:].strip())
        elif parts and not line.startswith('#'):
            parts[-1][1].append(line)
    return [(subject, '\n'.join(body).strip(), prefixes)
            for subject, body, prefixes in parts]


class _Repo:
    """A small git repository with just the files that we touch."""

    def __init__(self, folder: Path) -> None:
        self.folder = env.empty_folder(folder)
        name, mail = WHO.rstrip('>').split(' <')
        self.git('init', '-q', '-b', 'series')
        for key, value in (('user.name', name), ('user.email', mail),
                           ('core.abbrev', '12')):
            self.git('config', key, value)

    def git(self, *words: str, **options: Any) -> None:
        """Run git there."""
        procs.output(['git', '-c', 'safe.directory=*', *words],
                     cwd=self.folder, **options)

    def put(self, path: Path, data: bytes) -> None:
        """Write one file."""
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_bytes(data)

    def commit(self, message: str) -> None:
        """Commit all there is."""
        self.git('add', '-A', '-f')
        self.git('commit', '-q', '--allow-empty', '-F', '-', input=message)


def _maintained(full: str, original: str, present: list[Path]) -> bytes:
    """MAINTAINERS with our entry, but only the F: lines of what is there."""
    before = set(original.splitlines())
    kept = [line for line in full.splitlines()
            if line in before or not (match := re.match(r'F:\t(\S+)', line))
            or any(fnmatch.fnmatch(str(path), pattern) for path in present
                   for pattern in (match[1], match[1].rstrip('/') + '/*'))]
    return ('\n'.join(kept) + '\n').encode()


def _overlay_commits(repo: _Repo, target: overlay.Target) -> Path | None:
    """Commit the new files; the patch of MAINTAINERS, which goes along."""
    paths = overlay.files()
    unplaced = set(paths)
    maintainers = Path('MAINTAINERS')
    entry = next((p for p in overlay.patches()
                  if overlay.touched(p) == [maintainers]), None)
    original = target.original(maintainers).decode()
    full = target.wanted_patched().get(maintainers, b'').decode()
    present = []
    for subject, body, prefixes in groups():
        chosen = [p for p in paths
                  if p in unplaced and any(str(p).startswith(x)
                                           for x in prefixes)]
        if not chosen:
            continue
        unplaced -= set(chosen)
        present += chosen
        for path in chosen:
            repo.put(path, (env.REPO / path).read_bytes())
            shutil.copymode(env.REPO / path, repo.folder / path)
        if entry:
            repo.put(maintainers, _maintained(full, original, present))
        repo.commit(f'{subject}\n\n{body}\n\nSigned-off-by: {WHO}\n')
    if unplaced:
        raise env.Refusal('every overlay file in a group of series.list',
                          ', '.join(map(str, sorted(unplaced)[:8])),
                          'add its folder to a group there')
    return entry


def _make_mails(target: overlay.Target, out: Path) -> list[Path]:
    repo = _Repo(env.WORK / 'series' / 'git')
    for path in sorted(target.wanted_patched()):
        repo.put(path, target.original(path))
    repo.commit('base')
    repo.git('tag', 'base')
    entry = _overlay_commits(repo, target)
    for patch in overlay.patches():
        if patch != entry:
            repo.git('am', '-q', str(patch))
    repo.git('format-patch', '-q', '-o', str(env.empty_folder(out)), 'base')
    return sorted(out.glob('*.patch'))


def _ignored(mail: Path) -> list[str]:
    """The option of checkpatch.pl for a MAIL that adds one BUG() in C.

    A probe on what handles probes never ends: there is nothing to go on with,
    in C as in Rust. The mail says so, too: see series.list.
    """
    added = re.findall(r'^\+(?!\s*(?://|/?\*))[^"\n]*BUG(?:_ON\w*)?\(.*$',
                       mail.read_text(errors='replace'), re.M)
    return ['--ignore=AVOID_BUG'] if added == ['+\tBUG();'] else []


def _checkpatch(mails: list[Path], tree: Path) -> None:
    bad = []
    for mail in mails:
        log = env.LOGS / f'checkpatch-{mail.name}.log'
        if procs.run(['perl', tree / 'scripts/checkpatch.pl', '--strict',
                      '--no-summary', '--color=never',
                      *_ignored(mail), f'--root={tree}', mail], log):
            bad.append(f'{mail.name}:\n{procs.tail(log, 30)}')
    if bad:
        print('\n\n'.join(bad))
        raise env.Refusal('checkpatch.pl --strict to pass on every mail',
                          f'{len(bad)} of {len(mails)} do not (see above)',
                          'mend the files they complain about')


# Each option of our configurations, with the file of the kernel's that a patch
# changes and the line there that offers it. The first stands for the crate.
_OFFERS = (
    ('RUST_KERNEL_KPROBES_KUNIT_TEST', 'arch/Kconfig',
     'source "rust/kprobes/Kconfig"'),
    *((option, path, f'config {option}') for option, path in (
        ('SAMPLE_KPROBES_BATCH', 'samples/Kconfig'),
        ('SAMPLE_JPROBES', 'samples/Kconfig'),
        ('SAMPLE_RUST_KPROBE', 'samples/rust/Kconfig'),
        ('SAMPLE_RUST_KPROBE_FAULT', 'samples/rust/Kconfig'))))


def _absent(tree: Path) -> tuple[str, ...]:
    """The options of our configurations that TREE does not have yet."""
    return tuple(f'CONFIG_{option}' for option, path, line in _OFFERS
                 if f'\n{line}\n' not in (tree / path).read_text())


def _impls(tree: Path) -> tuple[str, ...]:
    """The implementations that can be selected in TREE."""
    return ('c',) if f'CONFIG_{_OFFERS[0][0]}' in _absent(tree) \
        else ('c', 'rust')


def _build(tree: Path, impl: str, position: str, log_name: str,
           planned: int) -> None:
    """Build TREE with IMPL, on top of what the mail before left."""
    obj = env.WORK / 'series' / f'build-{impl}'
    obj.mkdir(parents=True, exist_ok=True)
    with progress.Stage(f'series {position} {impl}', planned) as stage:
        command = kernel.make_command('x86_64', obj, tree)
        fragments.write(tree, obj, 'x86_64', impl, 'bench', command,
                        _absent(tree))
        log = obj / log_name
        kernel.compile_targets(command, ['bzImage', 'modules'], log, stage)


def _build_each(mails: list[Path]) -> None:
    """The tree builds after each mail, with all that can be selected."""
    tree = env.WORK / 'series' / 'tree'
    toolchain.ready()
    shutil.rmtree(tree, ignore_errors=True)
    with progress.Stage('series tree', 2):
        shutil.copytree(env.TREE, tree, symlinks=True)
        # The checkout's tree has everything in it: take it out again.
        state = env.WORK / 'series' / 'state'
        shutil.rmtree(state, ignore_errors=True)
        shutil.copytree(env.WORK / 'orig', state)
        overlay.Target(tree, state).sync(remove=True)
    # Under the usual path, so that the compiler cache knows the files.
    subprocess.run(['mount', '--bind', tree, env.TREE], check=True)
    try:
        _build_with(mails, env.TREE)
    finally:
        subprocess.run(['umount', env.TREE], check=True)
    shutil.rmtree(tree)


def _build_with(mails: list[Path], tree: Path) -> None:
    begun = set()
    for number, mail in enumerate(mails, 1):
        done = subprocess.run(['patch', '-p1', '--forward', '--fuzz=0',
                               '--batch', '-d', tree, '-i', mail], text=True,
                              capture_output=True, check=False)
        if done.returncode:
            raise env.Refusal(f'{mail.name} to apply', done.stdout,
                              'refresh the patches')
        for impl in _impls(tree):
            _build(tree, impl, f'{number}/{len(mails)}',
                   f'build-{number}.log', 3 if impl in begun else 12)
            begun.add(impl)
    for option, path, line in _OFFERS:
        if f'CONFIG_{option}' in _absent(tree):
            raise env.Refusal(f'a line {line} by some mail',
                              f'{path} never has it',
                              'is its patch still in patches/?')


def mails() -> list[Path]:
    """The mails, each of which fits and satisfies checkpatch.pl."""
    if env.KSRC:
        source.require_version(env.KSRC, 'KSRC')
    overlay.sync()
    target = overlay.Target(env.TREE, env.WORK / 'orig')
    made = _make_mails(target, env.RESULTS / 'series')
    with progress.Stage('checkpatch', 1):
        _checkpatch(made, env.TREE)
    return made


def run() -> int:
    """Make, check and build the series."""
    made = mails()
    if os.environ.get('FAST'):
        progress.say('not built (FAST=1): the mails fit and pass checkpatch, '
                     'no more is known')
    else:
        _build_each(made)
    for mail in made:
        print(env.host(mail))
        for option in _ignored(mail):
            print(f'  passes checkpatch.pl --strict with {option}: '
                  'it says why')
    print(f'{len(made)} mails; apply them with: git am '
          f'{env.host(env.RESULTS / "series")}/*.patch')
    progress.summary()
    return 0
