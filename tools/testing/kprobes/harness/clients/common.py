# SPDX-License-Identifier: GPL-2.0
"""Shared by the cases of make test-clients, whatever tool they run."""

import itertools
import re
from pathlib import Path

import env
import procs

FOLDER = env.KPROBES / 'clients'
HEAD = re.compile(r'# (limit|differs|options|inside|needs): +(.*)')
_ERROR = re.compile(r'.*\berror: |ERROR: |make.*\*\*\* |.*: undefined reference')


def head(text: str) -> dict[str, str]:
    """{word: text} of the lines `# word: text` before the first command."""
    lines = itertools.takewhile(lambda line: line.startswith('#'), text.splitlines())
    return {match[1]: match[2] for match in map(HEAD.match, lines) if match}


def dotted(name: str) -> str:
    """The name of a case as that of a result."""
    return 'clients.' + name.replace('/', '.')


def complaint(log: Path) -> str:
    """The line of a log that tells first what was wrong."""
    if procs.no_space(env.WORK):
        raise procs.full_disk(env.WORK)
    # Behind the call itself.
    lines = [line.strip() for line in
             log.read_text(errors='replace').splitlines()[1:] if line.strip()]
    return next((line for line in lines if _ERROR.match(line)),
                lines[-1] if lines else 'no word')[:300]
