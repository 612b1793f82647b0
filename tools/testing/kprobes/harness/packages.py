# SPDX-License-Identifier: GPL-2.0
"""Single Debian packages, each fetched in several ways.

First by its file's name, with the SHA-256 that toolchain/files* list: that
needs no index of the archive. Where there is no such file, by apt and the index
of a suite. Both again after a pause, as a mirror may be in the middle of an
update; then by the index of another suite; then by name from other archives.
"""

import hashlib
import http.client
import os
import re
import shutil
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import env
import procs
import progress

TOOLCHAIN = env.KPROBES / 'toolchain'
LIST = TOOLCHAIN / 'files'
# Seconds before a mirror that may be in the middle of an update is asked again.
PAUSE = 30
# Options of a line of apt's sources, see sources.list(5).
SOURCE_OPTIONS: tuple[str, ...] = ()


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, 'rb') as data:
        return hashlib.file_digest(data, 'sha256').hexdigest()


def _lines(kind: str) -> list[list[str]]:
    return [line.split()[1:] for path in (LIST, *sorted(LIST.parent.glob(f'{LIST.name}-*')))
            for line in path.read_text().splitlines() if line.startswith(f'{kind} ')]


def take(folder: Path, sha256: str, url: str, timeout: int = 60) -> tuple[Path | None, str]:
    """URL into FOLDER: (its file, '') or, unless its SHA-256 fits, why not."""
    name = url.rsplit('/', 1)[1]
    part = folder / (name + '.part')
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(url, timeout=timeout) as answer, open(part, 'wb') as out:
            shutil.copyfileobj(answer, out, 1 << 20)
        actual = digest(part)
        if actual == sha256:
            return part.replace(folder / name), ''
        reason = f'{url}: SHA-256 is {actual}, not {sha256}'
    except (OSError, http.client.HTTPException) as error:
        reason = f'{url}: {error}'
    finally:
        part.unlink(missing_ok=True)
    if procs.no_space(folder):
        raise procs.full_disk(folder)
    return None, reason


def _by_name(package: str, folder: Path, archive: str, tried: list[str]) -> Path | None:
    for name, sha256, listed in _lines('file'):
        if name == package:
            path, reason = take(folder, sha256, f'{archive}/{listed}')
            if path:
                return path
            tried.append(reason)
    return None


def _by_index(package: str, folder: Path, archive: str, suite: str,
              tried: list[str]) -> Path | None:
    name, arch = package.split(':')
    log = env.LOGS / f'package-{name}-{arch}.log'
    scratch = env.empty_folder(folder / f'{name}-{arch}.part')
    try:
        status = procs.run(
            ['bash', TOOLCHAIN / 'apt-download.sh', name,
             'amd64' if arch == 'all' else arch, archive, suite,
             *SOURCE_OPTIONS], log, cwd=scratch)
        path = next(scratch.glob('*.deb'), None)
        if path and not status:
            # As in the archive, whose names have no epoch.
            return path.replace(folder / re.sub(r'_\d+%3a', '_', path.name))
    finally:
        shutil.rmtree(scratch)
    reason = next((line for line in log.read_text(errors='replace').splitlines()
                   if line.startswith('E: ')), f'exit status {status}')
    tried.append(f'{archive}, index of {suite}: {reason}')
    return None


def fetch(package: str, folder: Path, suites: tuple[str, ...], otherwise: str) -> Path:
    """PACKAGE (name:architecture), which is in SUITES, as a file in FOLDER.

    OTHERWISE says what somebody can do, and what works, without it.
    """
    tried: list[str] = []
    # Debian's archives, in the order in which they are tried.
    mirror, *others = os.environ.get('DEBIAN_MIRROR', '').split() \
        or [address for address, _ in _lines('archive')]
    folder.mkdir(parents=True, exist_ok=True)
    progress.say(f'fetching the package {package}')

    def ways() -> Iterator[Path | None]:
        yield _by_name(package, folder, mirror, tried)
        yield _by_index(package, folder, mirror, suites[0], tried)
        progress.say(f'{package} is not to be had from {mirror} now; again in {PAUSE} s')
        time.sleep(PAUSE)
        yield _by_name(package, folder, mirror, tried)
        for suite in suites:
            yield _by_index(package, folder, mirror, suite, tried)
        for archive in others:
            yield _by_name(package, folder, archive, tried)
    path = next(filter(None, ways()), None)
    if not path:
        raise env.Refusal(
            f'the package {package} from one of Debian\'s archives',
            '\n            '.join(dict.fromkeys(tried)),
            'is the network up (proxy variables)? Another archive: '
            f'DEBIAN_MIRROR=. {otherwise}')
    return path
