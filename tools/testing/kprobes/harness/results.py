# SPDX-License-Identifier: GPL-2.0
"""Counting: tests that ran, tests that had to run, known defects of C.

One unit is one KTAP leaf or one host test. The last line of a run stands
alone: `N passed, N failed, N skipped`.
"""

import configparser
import errno
import os
import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import starmap

import env
import procs
import progress
from ktap import Result, write_log

PLANS = env.KPROBES / 'plan'
# How tests of the harness itself begin.
_HARNESS = ('harness.', 'selfcheck.', 'plan.harness')
# The name of a test in a guest begins so.
_GUEST = re.compile(rf'({"|".join(env.ARCHES)})\.({"|".join(env.IMPLS)})\.')


class Tally:
    """The results of a run."""

    def __init__(self) -> None:
        self.results: list[Result] = []

    def add(self, results: Iterable[Result], command: str = '') -> None:
        """Count RESULTS and show the failed ones at once.

        COMMAND runs them again, if there is one for all of them.
        """
        for result in results:
            self.results.append(result)
            if result.status == 'fail':
                *more, reason = result.reason.rstrip('\n').split('\n')
                log = f'; log: {result.log}' if result.log else ''
                progress.say('\n'.join([*more, f'FAILED {result.name}: {reason}'.rstrip(': ')
                                        + f' (again: {command or again(result.name)}{log})']))

    def close(self) -> int:
        """Print the end of the run; its exit status."""
        skipped: dict[str, list[str]] = {}
        for result in self.results:
            if result.status == 'skip':
                skipped.setdefault(result.reason, []).append(result.name)
        for reason, names in skipped.items():
            shown = ', '.join(names[:4]) + (' …' if len(names) > 4 else '')
            progress.say(f'skipped {len(names)} ({reason or "not for this kernel"}): {shown}')
        harness = [result for result in self.results if result.name.startswith(_HARNESS)]
        product = [result for result in self.results if result not in harness]
        if harness and product:
            progress.say(f'product: {_counts(product)}; harness: {_counts(harness)}')
        statuses = {result.status for result in self.results}
        test = os.environ.get('TEST')
        if test and not statuses:
            progress.say(f'no test matches TEST={test}: expected SUITE.CASE, such as '
                         'kprobes_test.test_kprobe with make kunit or '
                         'clauses_hit.* with make selftest')
        elif not statuses & {'pass', 'fail'}:
            progress.say('nothing passed: a run without one passed test '
                         'proves nothing and counts as failed')
        print(_counts(self.results), flush=True)
        return 0 if 'pass' in statuses and 'fail' not in statuses else 1


def _counts(results: list[Result]) -> str:
    number = Counter(result.status for result in results)
    return (f'{number["pass"]} passed, {number["fail"]} failed, {number["skip"]} skipped')


def attempt(name: str, function: Callable[[], list[Result]]) -> list[Result]:
    """The results of FUNCTION; if it ends early, a failure called NAME.

    A refusal is shown, anything else tells where it was.
    """
    problem: Exception
    try:
        return function()
    except env.Refusal as refusal:
        problem = refusal
    except OSError as error:
        problem = procs.full_disk(env.WORK) if error.errno == errno.ENOSPC else error
    except Exception as error:  # pylint: disable=broad-except
        problem = error
    if isinstance(problem, env.Refusal):
        problem.show()
        log = problem.log or env.host(write_log(name, f'{problem}\n{problem.do}\n'))
        return [Result(name, 'fail', problem.found.split('\n', maxsplit=1)[0], log)]
    text = ''.join(traceback.format_exception(problem))
    print(text, file=sys.stderr, flush=True)
    return [Result(name, 'fail', f'{type(problem).__name__}: {problem}',
                   env.host(write_log(name, text)))]


def known(name: str) -> dict[str, str]:
    """{test: defect} of the list NAME: IMPL, IMPL-ARCHITECTURE, or IMPL-FLAVOUR.

    A test that cannot be run on the kernel is listed, too.
    """
    path = PLANS / f'known-{name}.txt'
    return {begin + case + end: defect for begin, cases, end, defect in re.findall(
        r'^(?!#)([^{\s]*)(?:\{(.*)\})?(\S*) (.*)$',
        path.read_text() if path.exists() else '', re.M)
            for case in cases.split(',')}


def judge(results: list[Result], *lists: str) -> list[Result]:
    """A known defect is skipped if it shows, and fails if not."""
    defects = {f'.{test}': (defect, name) for name in lists for test, defect in known(name).items()}
    judged = []
    for result in results:
        defect, name = next((defects[test] for test in defects
                             if f'.{result.name}'.endswith(test)), ('', ''))
        if defect and result.status == 'fail':
            result = Result(result.name, 'skip', f'known: {defect}')
        elif defect and result.status == 'pass':
            result = Result(result.name, 'fail',
                            f'known to fail ({defect}), but did not: is it mended? '
                            f'Then take it out of plan/known-{name}.txt', result.log)
        judged.append(result)
    return judged


class _Row:
    """Suites, with the least number of results, and the kernels they run on.

    Or, where these begin with !, kernels that are without them.
    """

    def __init__(self, kernels: str, suites: str) -> None:
        self.without = kernels.startswith('!')
        self.kernels = kernels.lstrip('!').split()
        words = (word.partition('/') for word in suites.split())
        self.suites = {suite: int(number or 1) for suite, _, number in words}


@lru_cache
def _sections(*texts: str) -> dict[str, list[_Row]]:
    """The rows of each section of plan/suites*.txt, which are TEXTS."""
    rows: dict[str, list[_Row]] = {}
    for text in texts:
        plan = configparser.ConfigParser(delimiters=':', interpolation=None)
        plan.optionxform = str  # type: ignore[assignment,method-assign]
        plan.read_string(text)
        for part in plan.sections():
            rows.setdefault(part, []).extend(starmap(_Row, plan[part].items()))
    return rows


def _rows(parts: str = '') -> list[_Row]:
    """The rows of PARTS of plan/suites*.txt, or of all."""
    # In this order: what an architecture takes away has been given before.
    texts = (PLANS / 'suites.txt', *sorted(PLANS.glob('suites-*.txt')))
    sections = _sections(*(path.read_text() for path in texts))
    return [row for part in parts.split() or sections for row in sections[part]]


def required(parts: str, kernel: str = '') -> dict[str, int]:
    """{suite: least number of results} of PARTS on a KERNEL."""
    least: dict[str, int] = {}
    for row in _rows(parts):
        if any(fnmatchcase(kernel, pattern) for pattern in row.kernels):
            for suite, number in row.suites.items():
                least[suite] = 0 if row.without else max(number, least.get(suite, 0))
    return {suite: number for suite, number in least.items() if number}


def listed(parts: str = '') -> set[str]:
    """The suites of PARTS of plan/suites*.txt, or of all, on any kernel."""
    return {suite for row in _rows(parts) for suite in row.suites}


def _suites(name: str) -> list[str]:
    """The words that stand for the test NAME in plan/suites*.txt."""
    test = _GUEST.sub('', name, 1)
    return [test, *(test[:end.start()] for end in re.finditer(r'\.|::', test))]


def of_kunit(name: str) -> bool:
    """Is this test one of a KUnit suite that is built into the kernel?"""
    return listed().isdisjoint(_suites(name)) or not listed('kunit').isdisjoint(_suites(name))


def vanished(parts: str, results: list[Result], kernel: str = '') -> list[Result]:
    """A failure for every suite of PARTS that is missing, or too short.

    A build or boot that died has said so itself; what it did not reach is no news.
    """
    if any(result.status == 'fail' and result.name.endswith(('.build', '.boot'))
           for result in results):
        return []
    where = '.'.join(['plan', *filter(None, kernel.split('-')[:2])])
    numbers = Counter(suite for result in results for suite in _suites(result.name))
    return [Result(f'{where}.{suite}', 'fail',
                   f'{numbers[suite]} results of at least {least}'
                   if numbers[suite] else
                   'expected by plan/suites*.txt, but it never reported',
                   next((r.log for r in results if suite in _suites(r.name)), env.host(env.LOGS)))
            for suite, least in required(parts, kernel).items()
            if numbers[suite] < least]


def chosen(name: str, pattern: str) -> bool:
    """Is the guest's test NAME one that TEST=PATTERN means?

    PATTERN is SUITE or SUITE.CASE, each with * for anything, as KUnit's.
    """
    test = _GUEST.sub('', name, 1)
    return fnmatchcase(test, pattern) or fnmatchcase(test, f'{pattern}.*')


# The commands that run tests of these names; of others make test does.
_COMMANDS = {
    **{name: name for name in (
        'check', 'check-kernel', 'coverage', 'docs', 'host-bench', 'selfcheck', 'series')},
    **{name: 'test-clients' for name in ('c', 'clients', 'rust')},
    'miri': 'host-miri', 'fuzz': 'host-fuzz'}
# Results of a boot that belong to no suite.
_BOOTS = ('boot', 'cmdline', 'no-splat', 'tests', 'crashes')


def again(name: str) -> str:
    """The command that runs the test NAME again, or all like it."""
    name = name.removeprefix('plan.').removesuffix('.plan')
    test = _GUEST.sub('', name, 1)
    suite, _, case = test.partition('.')
    if suite in ('host', 'harness'):
        chosen_test = f' TEST={name}' if case.startswith('test_') or '::' in case else ''
        return f'make host-test{chosen_test}'
    if suite == 'commands':
        return f'make {case}'
    if suite in env.ARCHES:
        return f'make {_COMMANDS.get(case, "test")} ARCH={suite}'
    if test == name:
        return f'make {_COMMANDS.get(suite, "test")}'
    arch, impl = name.split('.')[:2]
    kernel = ('' if arch == env.ARCHES[0] else f' ARCH={arch}') \
        + ('' if impl == 'rust' or suite == 'coverage' else f' IMPL={impl}')
    if suite in ('build', 'check-kernel', 'coverage'):
        return f'make {_COMMANDS.get(suite, "test")}{kernel}'
    if suite == 'clients':
        return f'make test-all PIECE={impl}-{arch}-clients'
    if suite.startswith('storm'):
        return f'make storm{kernel}'
    if suite in _BOOTS:
        return f'make selftest{kernel}'
    if case in _BOOTS:
        test = f'{suite}*'
    part = 'kunit' if of_kunit(name) else 'selftest'
    # Upstream's tests of arm have names such as ldrex_r2_[sp].
    return f'make {part}{kernel} TEST=' + re.sub(r'[^\w.:*-]', '*', test)
