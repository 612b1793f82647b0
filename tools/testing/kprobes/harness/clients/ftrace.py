# SPDX-License-Identifier: GPL-2.0
"""Upstream's own tests of those who use kprobes: tracing's probe events.

They are shell scripts of the kernel tree's selftests (ftracetest), which the
guest's job runs. It says of each between which lines its results are: the end
of its log, and what ftracetest has found.
"""

import re
from collections.abc import Iterable
from pathlib import Path

import env
from clients.common import dotted
from ktap import Result

# Where they are, in the tree and, without that, in the guest.
_TREE = 'tools/testing/selftests/ftrace'
_BEGIN = re.compile(r'client: (\S+/\S+)$')
_END = 'client: end'
_VERDICT = re.compile(r'verdict: .*\[([A-Z]+)\]$')
_LOG = re.compile(r'\| ?(.*)$')
# Verdicts of ftracetest that are no failures, PASS apart.
_SKIPPED = ('UNRESOLVED', 'UNSUPPORTED', 'UNTESTED', 'XFAIL')


def files() -> dict[str, Path]:
    """{path in the guest: file}: the tests and what runs them."""
    tree = env.TREE / _TREE
    tests = sorted((tree / 'test.d/kprobe').glob('*.tc'))
    if not tests:
        raise env.Refusal(f'tests of upstream in {_TREE}/test.d/kprobe',
                          'none', 'is the tree a 7.3 tree?')
    return {f'/ftrace/{path.relative_to(tree)}': path for path in (
        tree / 'ftracetest', tree / 'test.d/functions', *tests)}


def names() -> list[str]:
    """The names of those tests."""
    return [path.removeprefix('/ftrace/test.d/').removesuffix('.tc')
            for path in files() if path.endswith('.tc')]


def _result(name: str, verdict: str | None, log: list[str]) -> Result:
    """The Result of a test, with the last lines of its LOG as the reason."""
    if verdict == 'PASS':
        return Result(name, 'pass')
    said = '; '.join(line.strip() for line in log[-4:]) or 'it has said nothing'
    return Result(name, 'skip' if verdict in _SKIPPED else 'fail',
                  f'{(verdict or "it came to no end").lower()}: {said}')


def judge(lines: Iterable[str], prefix: str, wanted: Iterable[str]
          ) -> list[Result]:
    """The Results of a boot that has said LINES and should run all WANTED."""
    results, name, verdict, log = {}, None, None, []
    for line in lines:
        if match := _BEGIN.match(line):
            name, verdict, log = match[1], None, []
            # Until it is known better.
            results[name] = _result(f'{prefix}.{dotted(name)}', None, log)
        elif name is None:
            continue
        elif line == _END:
            results[name] = _result(f'{prefix}.{dotted(name)}', verdict, log)
            name = None
        elif match := _VERDICT.match(line):
            verdict = match[1]
        elif match := _LOG.match(line):
            log.append(match[1])
    return [*results.values(), *(
        Result(f'{prefix}.{dotted(name)}', 'fail', 'it was not run')
        for name in wanted if name not in results)]
