# SPDX-License-Identifier: GPL-2.0
"""Paths, the user's variables, and refusals.

Inside the toolchain root the repository is /repo, the cache /cache and this
checkout's own part of it /work. Whatever a person reads goes through host(),
which gives the path as it is on their machine.
"""

import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import arches

HARNESS = Path(__file__).resolve().parent
KPROBES = HARNESS.parent
REPO = Path(os.environ['KP_REPO'])
# The tests that a guest runs and that are shipped.
SELFTESTS = REPO / 'tools/testing/selftests/kprobes'
CACHE = Path(os.environ['KP_CACHE'])
WORK = Path(os.environ['KP_WORK'])
KSRC = Path(os.environ['KP_KSRC']) if os.environ.get('KP_KSRC') else None
MODULE = Path(os.environ['KP_MODULE']) if os.environ.get('KP_MODULE') else None

if KSRC:
    # Work for the user's own tree never disturbs the checkout's usual one.
    WORK = WORK / 'ksrc'
TREE = WORK / 'tree'
LOGS = WORK / 'logs'
RESULTS = WORK / 'results'

ARCHES = arches.NAMES
# The architectures that have a back end of ours: what `make test` covers.
SUPPORTED = tuple(name for name in ARCHES if arches.of(name).back_end)
IMPLS = ('rust', 'c')

VERBOSE = bool(os.environ.get('V'))


class Refusal(Exception):
    """Something a person has to know: expected, found, and what to do."""

    def __init__(self, expected: str, found: str, do: str, log: str = '') -> None:
        super().__init__(f'expected {expected}; found {found}')
        self.expected, self.found, self.do, self.log = expected, found, do, log

    def show(self) -> None:
        """Print it the way the shell part does."""
        print(f'\nkprobes: cannot go on\n  expected: {self.expected}\n'
              f'  found:    {self.found}\n  do:       {self.do}',
              file=sys.stderr, flush=True)


def host(place: Path | str) -> str:
    """The path PLACE as the user sees it."""
    path = str(place)
    # WORK is inside CACHE on the host, but its own place inside the root.
    for name in ('WORK', 'CACHE', 'KSRC', 'MODULE', 'REPO'):
        inside = os.environ.get(f'KP_{name}')
        outside = os.environ.get(f'KP_HOST_{name}')
        if inside and outside and (path == inside or path.startswith(inside + '/')):
            return outside + path[len(inside):]
    return path


def read_json(path: Path) -> Any:
    """The value in PATH, or None if there is none."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def write_json(path: Path, value: Any) -> None:
    """Write VALUE to PATH, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix('.part')
    part.write_text(json.dumps(value, indent=1))
    part.replace(path)


def empty_folder(path: Path) -> Path:
    """PATH as a folder with nothing in it."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def choice(name: str, allowed: Sequence[str], default: str) -> str:
    """The variable NAME, one of ALLOWED."""
    value = os.environ.get(name) or default
    if value not in allowed:
        raise Refusal(f'{name}= one of {", ".join(allowed)}', value, f'make … {name}={allowed[0]}')
    return value


def jobs() -> int:
    """How many compilers may run at once."""
    text = os.environ.get('JOBS') or ''
    if text and not (text.isascii() and text.isdigit() and int(text) > 0):
        raise Refusal('JOBS= a number above 0', text, 'make … JOBS=4')
    return int(text) if text else len(os.sched_getaffinity(0)) + 1
