# SPDX-License-Identifier: GPL-2.0
"""Miri, which only comes with a nightly Rust toolchain: one day's, pinned.

Its parts, which toolchain/nightly lists, are fetched once into the cache.
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


def _missing(reason: str) -> env.Refusal:
    return env.Refusal('Miri, which comes with a nightly Rust', reason,
                       'is the network up (proxy variables)? All but make '
                       'host-miri works without it')


def _make(into: Path) -> None:
    shutil.rmtree(into, ignore_errors=True)
    with progress.Stage('nightly', 3) as stage:
        for line in LIST.read_text().splitlines():
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
                raise _missing(reason)
            # Without the part's own folder and that of its component.
            procs.output(['tar', '-xJf', path, '-C', into,
                          '--strip-components=2', '--exclude=manifest.in'])
            path.unlink()
    (into / 'complete').touch()


def environment(into: Path) -> dict[str, str]:
    """The variables for cargo, so that it is the nightly one and finds Miri's library."""
    return {'PATH': f'{into}/bin:{os.environ["PATH"]}',
            'CARGO_HOME': str(env.CACHE / 'cargo'),
            'CARGO_TARGET_DIR': str(env.WORK / 'host-miri'),
            'MIRI_SYSROOT': str(into / 'miri-sysroot')}


def ready(target: str) -> Path:
    """The folder of the toolchain, made once, with the standard library for TARGET."""
    stamp = hashlib.sha256(LIST.read_bytes()).hexdigest()[:12]
    into, log = env.CACHE / f'nightly-{stamp}', env.LOGS / f'nightly-{target}.log'
    with procs.alone('nightly'):
        if not (into / 'complete').exists():
            _make(into)
        # Its crates come from the registry, the first time.
        with progress.Stage(f'Miri for {target}', 1):
            if procs.run(['cargo', 'miri', 'setup', '--target', target], log,
                         extra=environment(into)):
                raise _missing(f'no standard library: {procs.tail(log, 3)}')
    return into
