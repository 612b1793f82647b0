# SPDX-License-Identifier: GPL-2.0
"""Building kernels: one O= folder per architecture, implementation, flavour."""

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import arches
import env
import fragments
import guest
import overlay
import procs
import progress
import toolchain

_STEP = re.compile(r'  [A-Z][A-Z0-9_ ()\[\]]{0,10} +(\S+)$')


@dataclass
class Built:
    """A kernel that is there."""

    arch: str
    impl: str
    flavour: str
    tree: Path
    obj: Path
    image: Path
    release: str

    @property
    def name(self) -> str:
        """For logs and stages."""
        return f'{self.arch}-{self.impl}-{self.flavour}'

    @property
    def machine(self) -> arches.Arch:
        """The record of its architecture."""
        return arches.of(self.arch)

    @property
    def entry(self) -> int:
        """The offset of a function's entry from its first byte."""
        return sum(size for option, size in self.machine.entry_marks.items() if self.has(option))

    def has(self, option: str) -> bool:
        """Is CONFIG_ this OPTION on?"""
        config = (self.obj / '.config').read_text()
        return f'CONFIG_{option}=y\n' in config


def make_command(arch: str, obj: Path, tree: Path, flavour: str = '') -> list[str]:
    """The make call that every build of this kernel begins with."""
    command = ['make', '-C', tree, f'O={obj}', f'ARCH={arches.of(arch).kernel}',
               'KBUILD_BUILD_USER=kprobes', 'KBUILD_BUILD_HOST=kprobes',
               'KBUILD_BUILD_TIMESTAMP=Thu Jan  1 00:00:00 UTC 1970']
    compiler = fragments.compiler(flavour)
    if compiler == 'clang':
        command.append('LLVM=1')
    elif cross := arches.of(arch).cross:
        command.append(f'CROSS_COMPILE={cross}')
        compiler = cross + compiler
    if shutil.which('ccache'):
        command.append(f'CC=ccache {compiler}')
    return [str(word) for word in command]


def own_paths(line: str) -> str:
    """LINE with paths of the tree's overlay shown as the repository's."""
    def replace(match: re.Match) -> str:
        path = match[1]
        return path if (env.REPO / path).exists() else match[0]
    return re.sub(rf'{env.TREE}/([\w./-]+)', replace, line)


def complaint(log: Path) -> str:
    """The part of a build log that tells why the build failed."""
    lines = log.read_text(errors='replace').splitlines()
    hits = [n for n, line in enumerate(lines)
            if not _STEP.match(line) and re.search(
                r'\berror\b|^ERROR: |undefined symbol|\*\*\* \[', line)]
    first = max(hits[0] - 3, 0) if hits else max(len(lines) - 25, 0)
    shown = [own_paths(line) for line in lines[first:] if not _STEP.match(line)]
    if more := shown[40:]:
        # The one that helps may be behind errors that follow from it.
        others = [line for line in more if re.match(r'error(\[E\d+\])?: ', line)]
        shown[40:] = [f'… {len(more)} more lines in the log below', *others[:10]]
    return '\n'.join(shown)


def warned(log: Path) -> Iterator[str]:
    """The warnings in a build log, with the lines that belong to each."""
    inside = False
    for line in log.read_text(errors='replace').splitlines():
        if re.search(r'\bwarning\b', line):
            inside = not line.endswith('emitted')
        elif not line.strip() or _STEP.match(line):
            inside = False
        if inside:
            yield own_paths(line)


def compile_targets(command: list[str], targets: list[str], log: Path,
                    stage: progress.Stage, product: str = 'the kernel') -> None:
    """Run make for TARGETS, and count its steps on STAGE."""
    def line(text: str) -> None:
        if match := _STEP.match(text):
            stage.tick(match[1])
    status = procs.run([*command, f'-j{env.jobs()}', *targets], log, on_line=line, extra={
        'CCACHE_DIR': str(env.CACHE / 'ccache'), 'CCACHE_MAXSIZE': '4G',
        'CCACHE_COMPRESS': '1', 'CCACHE_SLOPPINESS': 'time_macros'})
    if status:
        text = complaint(log)
        if 'No space left on device' in text or procs.no_space(env.WORK):
            raise procs.full_disk(env.WORK)
        print(text)
        mend = ('say license: "GPL" in module!, or MODULE_LICENSE("GPL")'
                if 'GPL-incompatible module' in text else 'mend it')
        raise env.Refusal(f'{product} to build', f'exit status {status} '
                          '(the first error is above)',
                          f'{mend} and run the same command again; '
                          f'whole log: {env.host(log)}', env.host(log))


def folder(arch: str, impl: str, flavour: str) -> Path:
    """The O= folder of a kernel."""
    return env.WORK / 'build' / f'{arch}-{impl}-{flavour}'


def images(pattern: str, arch: str = arches.NAMES[0]) -> list[Path]:
    """Each vmlinux of ARCH that is there, with this PATTERN of IMPL-FLAVOUR."""
    return sorted((env.WORK / 'build').glob(f'{arch}-{pattern}/vmlinux'))


def _drop_partial(obj: Path) -> int:
    """Delete files that a killed build has left empty, or half written.

    make takes such a file for done: no later build would succeed. How a file
    was made is written down behind it, once it is whole. Returns how many
    files are whole.
    """
    whole = 0
    for path in obj.glob('arch/*/boot/*offset.h'):
        if not path.stat().st_size:
            path.unlink()
    for path in obj.rglob('.*.cmd'):
        made = path.with_name(path.name[1:-len('.cmd')])
        if made.exists() and made.stat().st_mtime_ns > path.stat().st_mtime_ns:
            made.unlink()
        with path.open('rb') as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(end - 1, 0))
            if file.read() != b'\n':
                path.unlink()
        whole += made.exists()
    return whole


def build(arch: str, impl: str, flavour: str = 'test') -> Built:
    """Bring a kernel up to date; returns it."""
    toolchain.ready()
    overlay.sync()
    tree, obj = env.TREE, folder(arch, impl, flavour)
    obj.mkdir(parents=True, exist_ok=True)
    made = _drop_partial(obj)
    command = make_command(arch, obj, tree, flavour)
    log = obj / 'build.log'
    machine = arches.of(arch)
    # Refused now, not once the kernel is built.
    guest.busybox(machine)
    name = f'kernel {arch} {impl} {flavour}'
    with progress.Stage(name, machine.planned) as stage:
        fresh = not (obj / 'vmlinux').exists()
        if fresh:
            progress.fresh_kernel()
            stage.expected = progress.recall(f'steps {name}', machine.steps)
            # Four of five files have a step of their own.
            stage.count = made * 4 // 5
        fragments.write(tree, obj, arch, impl, flavour, command)
        compile_targets(command, [machine.target, 'modules'], log, stage)
        if fresh and not made:
            progress.remember(f'steps {name}', stage.count)
    release = (obj / 'include/config/kernel.release').read_text().strip()
    return Built(arch, impl, flavour, tree, obj, obj / machine.image, release)


# The place of a warning of rustc, clang or objtool.
_WARNED = re.compile(r' *--> (\S+:\d+):\d+$|(\S+:\d+):\d+: warning: |(\S+\.o): warning: ')
_OURS = re.compile(r'(?:.*/)?((?:rust|arch/\w+)/kprobes/\S+)')


def warnings(log: str) -> list[str]:
    """The places in our files of the warnings in a build's LOG."""
    places = (_OURS.match(match[1] or match[2] or match[3])
              for match in map(_WARNED.match, log.splitlines()) if match)
    return sorted({place[1] for place in places if place})


def _machine_code(path: Path) -> Path:
    """PATH, or what it becomes: with LTO, C is not machine code before a link.

    It names what is declared, not what is called.
    """
    with open(path, 'rb') as file:
        if file.read(4) != b'BC\xc0\xde':
            return path
    linked = path.with_suffix('.machine-code')
    procs.output(['llc', '-filetype=obj', '-o', linked, path])
    return linked


def compile_ours(arch: str, flavour: str) -> tuple[list[str], list[str]]:
    """Compile our objects in a kernel of this configuration, and no more.

    Nothing is linked: functions that they call may be missing. Returns the
    names of these functions, and the places of warnings; deletes the objects.
    """
    toolchain.ready()
    overlay.sync()
    obj = folder(arch, 'rust', flavour)
    obj.mkdir(parents=True, exist_ok=True)
    command = make_command(arch, obj, env.TREE, flavour)
    log = env.LOGS / f'{arch}-{flavour}.log'
    with progress.Stage(f'objects {arch} {flavour}', 4) as stage:
        fragments.write(env.TREE, obj, arch, 'rust', flavour, command)
        compile_targets(
            command, ['rust/kprobes/',
                      f'arch/{arches.of(arch).folder}/kprobes/'], log, stage)
    objects = sorted((obj / 'rust/kprobes').glob('*.o'))
    called = procs.output(
        ['llvm-nm', '--undefined-only', '--just-symbol-name',
         *map(_machine_code, objects)]).split()
    warned = warnings(log.read_text(errors='replace'))
    shutil.rmtree(obj)
    return called, warned


def external(built: Built, source: Path, out: Path, name: str) -> list[Path]:
    """Build the folder SOURCE of a module against BUILT; its .ko files."""
    return _modules(built, source, [f'{source}/'], out, name)


def ours(built: Built, *folders: Path | str) -> list[Path]:
    """Build the test modules in FOLDERS of the repository, all by one make."""
    # What architectures share is built by those that have it.
    built_here = [folder for folder in folders if (env.REPO / folder / 'Kbuild').exists()]
    # rsync takes over what of a path is behind the dot.
    return _modules(
        built, env.REPO,
        ['--relative', *(f'{env.REPO}/./{folder}' for folder in folders)],
        env.WORK / 'modules' / built.name,
        f'{" ".join(Path(folder).name for folder in built_here)} '
        f'{built.arch} {built.impl}',
        ''.join(f'obj-m += {folder}/\n' for folder in built_here))


def upstreams(built: Built, folder: str) -> list[Path]:
    """Build the modules of upstream's own tests in FOLDER of the tree."""
    source = built.tree / folder
    return _modules(built, source, [f'{source}/'],
                    env.WORK / 'modules' / f'{built.name}-{source.parent.name}',
                    f'{source.parent.name} {built.arch} {built.impl}')


def _drop_stale(built: Built, out: Path) -> None:
    """Delete modules in OUT that are of another configuration than BUILT.

    Kbuild looks for what a module's configuration has changed beside the
    module, and finds nothing: with another struct module it would not load.
    """
    stamp = out / '.of-configuration'
    digest = hashlib.sha256((built.obj / '.config').read_bytes()).hexdigest()
    if not (stamp.exists() and stamp.read_text() == digest):
        env.empty_folder(out)
        stamp.write_text(digest)


def _modules(built: Built, source: Path, copied: list[str], out: Path, name: str,
             kbuild: str = '') -> list[Path]:
    _drop_stale(built, out)
    log = env.LOGS / 'modules-copy.log'
    if procs.run(['rsync', '-a', '--checksum', *copied, f'{out}/'], log):
        raise env.Refusal(f'to copy {env.host(source)}', procs.tail(log, 3),
                          'see the line above', env.host(log))
    if kbuild:
        (out / 'Kbuild').write_text(kbuild)
    _drop_partial(out)
    command = make_command(built.arch, built.obj, built.tree, built.flavour)
    log = out / 'build.log'
    with progress.Stage(f'module {name}', 1) as stage:
        compile_targets([*command, f'M={out}'], ['modules'], log, stage, 'the module')
    # Not whatever lies there: a module renamed since has left its old one.
    order = out / 'modules.order'
    paths = [out / Path(line).with_suffix('.ko')
             for line in order.read_text().split()] if order.exists() else []
    if not paths:
        raise env.Refusal(f'a module (*.ko) from {env.host(source)}',
                          'none was built',
                          'its Kbuild or Makefile needs a line '
                          'obj-m := name.o')
    return paths
