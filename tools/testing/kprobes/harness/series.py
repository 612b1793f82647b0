# SPDX-License-Identifier: GPL-2.0
"""make series KSRC=path: overlay and patches as series of mails for `git am`.

`series.list` says what is in each. A series applies on the one before it, in a
folder of its own with a cover letter. Each mail must satisfy checkpatch.pl
--strict, but for the one BUG() that we stand by. After each patch, so also at
the end of each series, the tree is built for the first of arches.NAMES with
bench.config: with the implementation in C (and with the decoder's tests, which
then can be selected), and, from the mail on after which RUST_KPROBES can be
selected, with the one in Rust as well. Each of the two has objects of its own,
so that a mail costs what it touches. FAST=1 leaves the builds out.
"""

import fnmatch
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import arches
import env
import fragments
import kernel
import overlay
import procs
import progress
import source
import toolchain

LIST = overlay.PATCHES / 'series.list'
_ARCH = arches.of(arches.NAMES[0])
WHO = ('Rust kprobes developers <maintainers@users.noreply.a-seed-1b4b8125.example>')


@dataclass
class Step:
    """A mail: files whose paths have PREFIXES, or a patch of that NUMBER."""

    number: str = ''
    subject: str = ''
    body: list[str] = field(default_factory=list)
    prefixes: list[str] = field(default_factory=list)


@dataclass
class Series:
    """One folder of mails, and what its cover letter says."""

    name: str
    title: str
    body: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


def planned() -> list[Series]:
    """What series.list says."""
    made: list[Series] = []
    body: list[str] = []
    for line in LIST.read_text().splitlines():
        if line.startswith('= '):
            made.append(Series(*line[2:].split(': ', 1)))
            body = made[-1].body
        elif line.startswith('== '):
            made[-1].steps.append(Step(subject=line[3:]))
            body = made[-1].steps[-1].body
        elif line.startswith('+ '):
            made[-1].steps.append(Step(line[2:]))
        elif line.startswith(': '):
            made[-1].steps[-1].prefixes.append(line[2:])
        elif not line.startswith('#'):
            body.append(line)
    return made


class _Repo:
    """A small git repository with just the files that we touch."""

    def __init__(self, folder: Path) -> None:
        self.folder = env.empty_folder(folder)
        name, mail = WHO.rstrip('>').split(' <')
        self.git('init', '-q', '-b', 'series')
        for key, value in (('user.name', name), ('user.email', mail), ('core.abbrev', '12')):
            self.git('config', key, value)

    def git(self, *words: str, **options: Any) -> None:
        """Run git there."""
        procs.output(['git', '-c', 'safe.directory=*', *words], cwd=self.folder, **options)

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


def _placed(paths: list[Path], plan: list[Series]) -> dict[str, list[Path]]:
    """The files of each beginning: the longest that fits."""
    placed: dict[str, list[Path]] = {
        prefix: [] for series in plan for step in series.steps
        for prefix in step.prefixes}
    for path in paths:
        fit = [prefix for prefix in placed if str(path).startswith(prefix)]
        if not fit:
            raise env.Refusal('every overlay file in a mail of series.list',
                              str(path), 'add its folder to a mail there')
        placed[max(fit, key=len)].append(path)
    return placed


def _commit_all(repo: _Repo, target: overlay.Target, plan: list[Series]) -> None:
    """Commit all steps of PLAN, with a tag at the end of each series."""
    placed = _placed(overlay.files(), plan)
    numbered = {patch.name[:4]: patch for patch in overlay.patches()}
    maintainers = Path('MAINTAINERS')
    entry = next(number for number, patch in numbered.items()
                 if overlay.touched(patch) == [maintainers])
    named = [step.number for series in plan for step in series.steps]
    if [*filter(None, named), entry] != list(numbered):
        raise env.Refusal('all patches in series.list, in their order, then '
                          "MAINTAINERS'", str(named), 'mend its lines with +')
    original = target.original(maintainers).decode()
    full = target.wanted_patched()[maintainers].decode()
    present = []
    for series in plan:
        for step in series.steps:
            if step.number:
                repo.git('am', '-q', str(numbered[step.number]))
                continue
            chosen = sum((placed[prefix] for prefix in step.prefixes), [])
            present += chosen
            for path in chosen:
                repo.put(path, (env.REPO / path).read_bytes())
                shutil.copymode(env.REPO / path, repo.folder / path)
            repo.put(maintainers, _maintained(full, original, present))
            repo.commit('\n'.join([step.subject, '', *step.body]) + f'\n\nSigned-off-by: {WHO}\n')
        repo.git('tag', series.name)


def _make_mails(target: overlay.Target, out: Path) -> list[Path]:
    repo = _Repo(env.WORK / 'series' / 'git')
    for path in sorted(target.wanted_patched()):
        repo.put(path, target.original(path))
    repo.commit('base')
    repo.git('tag', 'base')
    plan, made, before = planned(), [], 'base'
    _commit_all(repo, target, plan)
    env.empty_folder(out)
    for number, series in enumerate(plan, 1):
        folder = out / f'{number}-{series.name}'
        repo.git('format-patch', '-q', '--cover-letter', '-o', str(folder),
                 f'{before}..{series.name}')
        before = series.name
        # Not a .patch, as `git am` takes no mail without one.
        cover = folder / '0000-cover-letter.patch'
        text = cover.read_text().replace(
            '*** SUBJECT HERE ***', series.title).replace(
            '*** BLURB HERE ***', '\n'.join(series.body).strip())
        cover.rename(cover.with_suffix('.txt')).write_text(text)
        patches = sorted(folder.glob('*.patch'))
        if len(patches) > 15:
            raise env.Refusal('at most 15 mails', str(len(patches)), 'fewer')
        made += patches
    return made


def _ignored(mail: Path) -> list[str]:
    """The option of checkpatch.pl for a MAIL that adds one BUG() in C.

    A probe on what handles probes never ends: there is nothing to go on with,
    in C as in Rust; nor if the code to return to is gone. The mail says so,
    too: see series.list.
    """
    added = re.findall(r'^\+(?!\s*(?://|/?\*))[^"\n]*BUG(?:_ON\w*)?\(.*$',
                       mail.read_text(errors='replace'), re.M)
    return ['--ignore=AVOID_BUG'] if added in (['+\tBUG();'], ['+\tBUG_ON(!stays);']) else []


# What checkpatch.pl takes for a mistake, and is none here: macros that declare,
# loop and name members, or have no use for an argument in one configuration;
# one entry of MAINTAINERS with folders; cases and patterns of the tests' shell.
_NONE = ','.join((
    'MACRO_ARG_PRECEDENCE', 'MACRO_ARG_REUSE', 'MACRO_ARG_UNUSED',
    'FUNCTION_ARGUMENTS', 'STATIC_CONST', 'FILE_PATH_CHANGES',
    'EMBEDDED_FUNCTION_NAME', 'REPEATED_WORD', 'LONG_LINE_STRING'))


def _checkpatch(mails: list[Path], tree: Path) -> None:
    bad = []
    for mail in mails:
        log = env.LOGS / f'checkpatch-{mail.parent.name}-{mail.name}.log'
        if procs.run(['perl', tree / 'scripts/checkpatch.pl', '--strict',
                      '--no-summary', '--color=never', f'--ignore={_NONE}',
                      *_ignored(mail), f'--root={tree}', mail], log):
            bad.append(f'{mail.name}:\n{procs.tail(log, 30)}')
    if bad:
        print('\n\n'.join(bad))
        raise env.Refusal('checkpatch.pl --strict to pass on every mail',
                          f'{len(bad)} of {len(mails)} do not (see above)',
                          'mend the files they complain about',
                          f'{env.host(env.LOGS)}/checkpatch-*.log')


def _offered(tree: Path) -> set[str]:
    """The options that Kconfig comes by in TREE."""
    files, options = ['Kconfig'], set()
    for name in files:
        text = (tree / name.replace('$(SRCARCH)', _ARCH.folder)).read_text()
        files += re.findall(r'^\s*source "(.*)"', text, re.M)
        options |= set(re.findall(r'^\s*(?:menu)?config (\w+)$', text, re.M))
    return {f'CONFIG_{option}' for option in options}


def _absent(tree: Path, impl: str) -> set[str]:
    """The options of our configuration with IMPL that TREE does not have yet."""
    return fragments.settings(fragments.chosen(_ARCH.name, impl, 'bench')).keys() - _offered(tree)


def _build(tree: Path, impl: str, position: str, log_name: str, planned: int) -> None:
    """Build TREE with IMPL, on top of what the mail before left."""
    obj = env.WORK / 'series' / f'build-{impl}'
    obj.mkdir(parents=True, exist_ok=True)
    with progress.Stage(f'series {position} {impl}', planned) as stage:
        command = kernel.make_command(_ARCH.name, obj, tree)
        fragments.write(tree, obj, _ARCH.name, impl, 'bench', command, _absent(tree, impl))
        if impl == 'c' and 'CONFIG_RUST_KPROBES_KUNIT_TEST' in _offered(tree):
            procs.output([tree / 'scripts/config', '--file', obj / '.config',
                          '--enable', 'RUST_KPROBES_KUNIT_TEST'])
        log = obj / log_name
        kernel.compile_targets(command, [_ARCH.target, 'modules'], log, stage)


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
            raise env.Refusal(f'{mail.name} to apply', done.stdout, 'refresh the patches')
        # Files alone are not built yet, but at the end of a series all is.
        last = number == len(mails) or mails[number].parent != mail.parent
        if not last and '\nnew file mode ' in mail.read_text(errors='replace'):
            continue
        for impl in ('c', 'rust'):
            if impl == 'rust' and 'CONFIG_RUST_KPROBES' not in _offered(tree):
                continue
            _build(tree, impl, f'{number}/{len(mails)}',
                   f'build-{number}.log', 3 if impl in begun else 12)
            begun.add(impl)
    if absent := _absent(tree, 'rust'):
        raise env.Refusal('each option of our configuration by some mail',
                          f'no {", ".join(sorted(absent))}',
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
        progress.say('not built (FAST=1): the mails fit and pass checkpatch, no more is known')
    else:
        _build_each(made)
    for mail in made:
        print(env.host(mail))
        for option in _ignored(mail):
            print(f'  passes checkpatch.pl --strict with {option}: it says why')
    print(f'{len(made)} mails; apply them in this order with: git am '
          f'{env.host(env.RESULTS / "series")}/*/*.patch')
    progress.summary()
    return 0
