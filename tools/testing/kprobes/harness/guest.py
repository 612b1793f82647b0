# SPDX-License-Identifier: GPL-2.0
"""The guest's root: an initramfs of Debian's busybox and our own scripts.

Nothing of the host gets in. The kernel's gen_init_cpio writes the archive, so
that device nodes need no rights.
"""

import gzip
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import arches
import env
import packages
import procs

if TYPE_CHECKING:
    import kernel

GUEST = env.KPROBES / 'guest'


def scripts() -> list[Path]:
    """All that a guest can be told to do."""
    return [*env.SELFTESTS.glob('*.sh'), *(GUEST / 'jobs').glob('*.sh')]


def script(name: str) -> Path:
    """The one called NAME."""
    return next(path for path in scripts() if path.stem == name)


def busybox(machine: arches.Arch) -> Path:
    """Debian's static busybox for MACHINE."""
    debian = machine.debian
    unpacked = env.CACHE / 'guest' / f'busybox-{debian}'
    if not unpacked.exists():
        with procs.alone('guest'):
            if not unpacked.exists():
                _unpack_busybox(machine, unpacked)
    return unpacked


def _unpack_busybox(machine: arches.Arch, unpacked: Path) -> None:
    debian, folder = machine.debian, unpacked.parent
    package = max(folder.glob(f'busybox-static_*_{debian}.deb'), default=None) \
        or packages.fetch(
            f'busybox-static:{debian}', folder, ('trixie', 'forky'),
            'Or put that package\'s file into '
            f'{env.host(folder)}. What builds no kernel of {machine.name} works without it')
    archive = subprocess.run(['dpkg-deb', '--fsys-tarfile', package],
                             capture_output=True, check=True).stdout
    data = subprocess.run(
        ['tar', '-xO', '--wildcards', './*bin/busybox'], input=archive,
        capture_output=True, check=True).stdout
    part = unpacked.with_suffix('.part')
    part.write_bytes(data)
    part.replace(unpacked)


def initramfs(built: 'kernel.Built', name: str, script: str, modules: Iterable[Path] = (),
              files: dict[str, Path] | None = None) -> Path:
    """The initramfs that runs SCRIPT (shell text); modules in /modules."""
    target = built.obj / f'initramfs-{name}.gz'
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder) / 'job'
        job.write_text(script)
        placed = {'bin/busybox': busybox(built.machine),
                  'init': GUEST / 'init', 'lib.sh': env.SELFTESTS / 'lib.sh',
                  'job': job,
                  # The file of the architecture replaces defaults of lib.sh.
                  **{'arch.sh': path for path in env.SELFTESTS.glob(f'{built.arch}.sh')},
                  **{f'modules/{path.name}': path for path in modules},
                  **{inside.lstrip('/'): path
                     for inside, path in (files or {}).items()}}
        folders = {str(parent) for inside in placed for parent in Path(inside).parents} - {'.'}
        listing = ''.join(
            [f'dir /{inside} 755 0 0\n' for inside in sorted({*folders, 'dev'})]
            + ['nod /dev/console 600 0 0 c 5 1\n']
            + [f'file /{inside} {path} 755 0 0\n'
               for inside, path in placed.items()])
        try:
            # Without the time of day: the same files are the same archive.
            archive = subprocess.run(
                [built.obj / 'usr/gen_init_cpio', '-t', '0', '-'],
                input=listing.encode(), capture_output=True, check=True).stdout
            target.write_bytes(gzip.compress(archive, 1, mtime=0))
        except OSError as error:
            raise procs.full_disk(env.WORK) from error
    return target


def shipped(built: 'kernel.Built', *names: str) -> list[Path]:
    """Modules of the kernel's own build, by name; those that exist."""
    paths = {path.stem.replace('-', '_'): path for path in sorted(built.obj.rglob('*.ko'))}
    missing = [name for name in names if name not in paths]
    if missing:
        raise env.Refusal(f'modules of the kernel build: {", ".join(names)}',
                          f'no {", ".join(missing)} below '
                          f'{env.host(built.obj)}',
                          'does a config fragment select them as =m?')
    return [paths[name] for name in names]
