# SPDX-License-Identifier: GPL-2.0
"""Miri, which only comes with a nightly Rust toolchain: one day's, pinned.

Its parts are listed with their SHA-256 in toolchain/nightly and fetched once
into the cache. What needs them is a check beside those of the toolchain root,
so a machine without a network goes without, and says so.
"""

import hashlib
import os
import shutil
import time
from pathlib import Path

import env
import packages
import procs
import progress

LIST = env.KPROBES / 'toolchain' / 'nightly'


class Missing(Exception):
    """There is no Miri, and why."""


def home(listing: Path | None = None) -> Path:
    """The folder of the toolchain of the list, made or not."""
    stamp = hashlib.sha256((listing or LIST).read_bytes()).hexdigest()[:12]
    return env.CACHE / f'nightly-{stamp}'


def _sysroot(into: Path) -> None:
    """Build the standard library for Miri; its crates come from the registry."""
    log = env.LOGS / 'nightly-sysroot.log'
    if procs.run(['cargo', 'miri', 'setup'], log, extra=environment(into)):
        raise Missing('no standard library for it: ' + procs.tail(log, 3))


def _make(into: Path, listing: Path) -> None:
    shutil.rmtree(into, ignore_errors=True)
    with progress.Stage('nightly', 3) as stage:
        for line in listing.read_text().splitlines():
            if line.startswith('#'):
                continue
            sha256, url = line.split()
            stage.tick(url)
            for pause in (0, packages.PAUSE):
                time.sleep(pause)
                path, reason = packages.take(into / 'archives', sha256, url)
                if path:
                    break
            else:
                raise Missing(reason)
            # Without the part's own folder and that of its component.
            procs.output(['tar', '-xJf', path, '-C', into,
                          '--strip-components=2', '--exclude=manifest.in'])
            path.unlink()
        _sysroot(into)
    (into / 'complete').touch()


def environment(into: Path) -> dict[str, str]:
    """The variables for cargo, so that it is the nightly one and finds Miri's library."""
    return {'PATH': f'{into}/bin:{os.environ["PATH"]}',
            'CARGO_HOME': str(env.CACHE / 'cargo'),
            'CARGO_TARGET_DIR': str(env.WORK / 'host-miri'),
            'CARGO_TERM_COLOR': 'never',
            'MIRI_SYSROOT': str(into / 'miri-sysroot')}


def ready(listing: Path | None = None) -> Path:
    """The folder of the toolchain, made once; raises Missing."""
    listing = listing or LIST
    into = home(listing)
    with procs.alone('nightly'):
        if not (into / 'complete').exists():
            _make(into, listing)
    return into
