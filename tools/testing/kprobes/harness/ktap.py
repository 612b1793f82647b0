# SPDX-License-Identifier: GPL-2.0
"""Reading KTAP out of a console log.

A leaf is a result line with no results below it since the last one at its
depth. A result line that closes a level is counted only where it fails
although nothing below it did (a suite whose set-up failed, say). A level
that announced more results than came is a failure of its own.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import env

_RESULT = re.compile(r'^( *)(not ok|ok) +\d+(?: +-)?(?: +([^#]*?))?(?: *# *(\w*) *(.*))?$')
_SUBTEST = re.compile(r'^( *)# Subtest: (.*)$')
_PLAN = re.compile(r'^( *)1\.\.(\d+)')
_NOTE = re.compile(r'^ *# (.*)$')


@dataclass
class Result:
    """One counted unit."""

    name: str
    status: str     # pass, fail, skip
    reason: str = ''
    log: str = ''   # as the user sees its path


def verdict(name: str, why: str, log: str = '') -> Result:
    """The Result NAME, which has failed if there is a reason WHY."""
    return Result(name, 'fail' if why else 'pass', why, log)


def write_log(name: str, text: str) -> Path:
    """The log NAME, which has TEXT."""
    log = env.LOGS / f'{name}.log'
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(text)
    return log


def listed(name: str, problems: list[str]) -> Result:
    """The Result NAME, which has failed if there are PROBLEMS; a log of its own lists them."""
    why = '\n'.join(problems)
    return verdict(name, why, env.host(write_log(name.replace('.', '-'), why)))


def logged(results: list[Result], log: Path | str) -> list[Result]:
    """RESULTS, which are all out of LOG."""
    for result in results:
        result.log = env.host(log)
    return results


@dataclass
class _Level:
    depth: int
    name: str = ''
    seen: int = 0
    failed: int = 0
    planned: int = 0


def parse(lines: Iterable[str], prefix: str = '') -> list[Result]:
    """The Results in LINES."""
    results: list[Result] = []
    levels: list[_Level] = []
    notes: list[str] = []

    def close(depth: int) -> _Level | None:
        """Drop the levels deeper than DEPTH; the outermost of them."""
        outer = None
        while levels and levels[-1].depth > depth:
            outer = levels.pop()
            if outer.planned > outer.seen:
                results.append(Result(
                    _name(prefix, [outer], 'plan'), 'fail',
                    f'{outer.planned} results announced, {outer.seen} came'))
        return outer

    def level(depth: int) -> _Level:
        if not levels or levels[-1].depth < depth:
            levels.append(_Level(depth))
        return levels[-1]

    for line in lines:
        if line.startswith('KTAP version'):
            close(-1)
            notes.clear()
        elif match := _SUBTEST.match(line):
            # KUnit indents the subtest's heading as its results. A level
            # still open there has lost its own result line.
            close(len(match[1]) - 1)
            level(len(match[1])).name = match[2].strip()
            notes.clear()
        elif match := _PLAN.match(line):
            close(len(match[1]))
            level(len(match[1])).planned = int(match[2])
        elif match := _RESULT.match(line):
            depth = len(match[1])
            below = close(depth)
            current = level(depth)
            current.seen += 1
            bad = match[2] == 'not ok'
            current.failed += bad
            name = _name(prefix, levels, match[3] or '?')
            if below and below.seen:
                if bad and not below.failed:
                    results.append(Result(name, 'fail', 'failed outside its cases'))
                notes.clear()
                continue
            status = 'fail' if bad else 'pass'
            if (match[4] or '').upper() == 'SKIP':
                status = 'skip'
            reason = match[5] or ('; '.join(notes[-6:]) if bad else '')
            results.append(Result(name, status, reason.strip()))
            notes.clear()
        elif match := _NOTE.match(line):
            notes.append(match[1])
    close(-1)
    return results


def _name(prefix: str, levels: list[_Level], last: str) -> str:
    parts = [prefix, *(level.name for level in levels), last.strip()]
    return '.'.join(part for part in parts if part)
