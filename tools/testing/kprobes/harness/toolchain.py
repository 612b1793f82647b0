# SPDX-License-Identifier: GPL-2.0
"""bindgen, which is no package of the toolchain root, and all tools' versions."""

import os
import shutil
from pathlib import Path

import arches
import env
import packages
import procs
import progress

BINDGEN = '0.72.1'
# The tools that compile, link and run the tests, and the options for their versions.
_TOLD = (('rustc', '-vV'), ('cargo', '--version'), ('clang', '--version'),
         ('ld.lld', '--version'), ('gcc', '--version'), ('ld', '--version'),
         *((arches.of(name).qemu[0], '--version') for name in arches.NAMES))


def ready() -> None:
    """Put the bindgen that fits libclang into PATH, fetched once."""
    home = env.CACHE / f'bindgen-{BINDGEN}'
    if not home.exists():
        with procs.alone('bindgen'):
            if not home.exists():
                _fetch(home)
    if f'{home}/bin' not in os.environ['PATH'].split(':'):
        os.environ['PATH'] = f'{home}/bin:{os.environ["PATH"]}'


def _fetch(home: Path) -> None:
    with progress.Stage('bindgen', 0.5):
        package = packages.fetch(
            'bindgen:amd64', env.CACHE / 'bindgen', ('forky',),
            'What builds no kernel works without it')
        part = home.with_name(f'{home.name}.part')
        shutil.rmtree(part, ignore_errors=True)
        procs.output(['dpkg-deb', '--extract', package, part])
        words = procs.output([part / 'usr/bin/bindgen', '--version']).split()
        if words[-1] != BINDGEN:
            raise env.Refusal(f'bindgen {BINDGEN} in Debian\'s archive',
                              words[-1], 'put a file of that version into '
                              'toolchain/files')
        (part / 'usr').rename(home)
        shutil.rmtree(part)


def identity() -> str:
    """The versions of all tools."""
    return '\n'.join([f'bindgen {BINDGEN}', *map(procs.output, _TOLD)])
