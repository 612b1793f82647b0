# SPDX-License-Identifier: GPL-2.0
"""The guest's root: an initramfs of Debian's busybox and our own scripts.

Nothing of the host gets in. The archive is written here (cpio, newc), so that
device nodes need no rights.
"""

import gzip
import stat
import subprocess
from pathlib import Path

import arches
import env
import packages
import procs

GUEST = env.KPROBES / 'guest'


def scripts() -> list[Path]:
    """All that a guest can be told to do."""
    return [*env.SELFTESTS.glob('*.sh'), *(GUEST / 'jobs').glob('*.sh')]


def script(name: str) -> Path:
    """The one called NAME."""
    return next(path for path in scripts() if path.stem == name)


class _Cpio:
    def __init__(self):
        self.parts, self.number, self.folders = [], 0, set()

    def _entry(self, name, mode, data=b'', major=0, minor=0):
        self.number += 1
        name = name.encode() + b'\0'
        fields = (self.number, mode, 0, 0, 1, 0, len(data), 0, 0, major,
                  minor, len(name), 0)
        head = b'070701' + b''.join(b'%08X' % field for field in fields)
        self.parts += [head + name, b'\0' * (-(len(head) + len(name)) % 4),
                       data, b'\0' * (-len(data) % 4)]

    def folder(self, name):
        if name and name not in self.folders:
            self.folder(name.rpartition('/')[0])
            self.folders.add(name)
            self._entry(name, stat.S_IFDIR | 0o755)

    def file(self, name, data, mode=0o755):
        self.folder(name.rpartition('/')[0])
        self._entry(name, stat.S_IFREG | mode, data)

    def node(self, name, major, minor):
        self.folder(name.rpartition('/')[0])
        self._entry(name, stat.S_IFCHR | 0o600, b'', major, minor)

    def bytes(self):
        self._entry('TRAILER!!!', 0)
        return b''.join(self.parts)


def busybox(machine: arches.Arch) -> bytes:
    """Debian's static busybox for MACHINE."""
    debian = machine.debian
    unpacked = env.CACHE / 'guest' / f'busybox-{debian}'
    if not unpacked.exists():
        with procs.alone('guest'):
            if not unpacked.exists():
                _unpack_busybox(machine, unpacked)
    return unpacked.read_bytes()


def _unpack_busybox(machine, unpacked):
    debian, folder = machine.debian, unpacked.parent
    package = max(folder.glob(f'busybox-static_*_{debian}.deb'), default=None) \
        or packages.fetch(
            f'busybox-static:{debian}', folder, ('trixie', 'forky'),
            'Or put that package\'s file into '
            f'{env.host(folder)}. What runs no guest of {machine.name} works without it')
    archive = subprocess.run(['dpkg-deb', '--fsys-tarfile', package],
                             capture_output=True, check=True).stdout
    data = subprocess.run(
        ['tar', '-xO', '--wildcards', './*bin/busybox'], input=archive,
        capture_output=True, check=True).stdout
    part = unpacked.with_suffix('.part')
    part.write_bytes(data)
    part.replace(unpacked)


def initramfs(built, name, script, modules=(), files=None):
    """The initramfs that runs SCRIPT (shell text); modules in /modules."""
    archive = _Cpio()
    archive.node('dev/console', 5, 1)
    archive.file('bin/busybox', busybox(built.machine))
    archive.file('init', (GUEST / 'init').read_bytes())
    archive.file('lib.sh', (env.SELFTESTS / 'lib.sh').read_bytes(), 0o644)
    archive.file('job', script.encode(), 0o644)
    for module in modules:
        archive.file(f'modules/{module.name}', module.read_bytes(), 0o644)
    for inside, path in (files or {}).items():
        archive.file(inside.lstrip('/'), path.read_bytes())
    target = built.obj / f'initramfs-{name}.gz'
    try:
        # Without the time of day: the same files are the same archive.
        target.write_bytes(gzip.compress(archive.bytes(), 1, mtime=0))
    except OSError as error:
        raise procs.full_disk(env.WORK) from error
    return target


def shipped(built, *names):
    """Modules of the kernel's own build, by name; those that exist."""
    found = {path.stem.replace('-', '_'): path
             for path in sorted(built.obj.rglob('*.ko'))}
    missing = [name for name in names if name not in found]
    if missing:
        raise env.Refusal(f'modules of the kernel build: {", ".join(names)}',
                          f'no {", ".join(missing)} below '
                          f'{env.host(built.obj)}',
                          'does a config fragment select them as =m?')
    return [found[name] for name in names]
