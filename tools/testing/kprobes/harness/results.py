# SPDX-License-Identifier: GPL-2.0
"""Counting: what ran, what had to run, what is known to be wrong in C.

One unit is one KTAP leaf or one host test. The last line of a run stands
alone: `N passed, N failed, N skipped`.
"""

import errno
import re
import sys
import traceback

import env
import procs
import progress
from ktap import Result

PLANS = env.KPROBES / 'plan'


class Tally:
    """The results of a run."""

    def __init__(self):
        self.results = []

    def add(self, results):
        """Count RESULTS and show the failed ones at once."""
        for one in results:
            self.results.append(one)
            if one.status == 'fail':
                progress.say(f'FAILED {one.name}: {one.reason}'
                             .rstrip(': '))

    def number(self, status):
        """How many ended so."""
        return sum(one.status == status for one in self.results)

    def close(self):
        """Print the end of the run; its exit status."""
        reasons = {}
        for one in self.results:
            if one.status == 'skip':
                reasons.setdefault(one.reason, []).append(one.name)
        for reason, names in reasons.items():
            shown = ', '.join(names[:4]) + (' …' if len(names) > 4 else '')
            progress.say(f'skipped {len(names)} ({reason}): {shown}')
        passed, failed, skipped = map(self.number,
                                      ('pass', 'fail', 'skip'))
        if not passed:
            progress.say('nothing passed: a run without one passed test '
                         'proves nothing and counts as failed')
        print(f'{passed} passed, {failed} failed, {skipped} skipped',
              flush=True)
        return 0 if passed and not failed else 1


def attempt(name, function):
    """What FUNCTION finds; if it ends early, that is a failure called NAME.

    A refusal is shown, anything else tells where it was.
    """
    try:
        with procs.nothing_vanishes():
            return function()
    except env.Refusal as refusal:
        problem = refusal
    except OSError as error:
        problem = procs.full_disk(env.WORK) \
            if error.errno == errno.ENOSPC else error
    except Exception as error:  # pylint: disable=broad-except
        problem = error
    if isinstance(problem, env.Refusal):
        problem.show()
        why = problem.found.split('\n', maxsplit=1)[0]
    else:
        traceback.print_exception(problem)
        sys.stderr.flush()
        why = f'{type(problem).__name__}: {problem}'
    return [Result(name, 'fail', why)]


def known(whose):
    """{test name: what}: what an implementation is known to get wrong.

    Or what cannot be run on one of its kernels: IMPL-FLAVOUR.
    """
    found = {}
    path = PLANS / f'known-{whose}.txt'
    if path.exists():
        for line in path.read_text().splitlines():
            if line and not line.startswith('#'):
                name, what = line.split(maxsplit=1)
                found[name] = what
    return found


def judge(results, *lists):
    """What is known to be wrong is skipped if it shows, and fails if not."""
    wrong = {name: (what, whose) for whose in lists
             for name, what in known(whose).items()}
    judged = []
    for one in results:
        what, whose = next((found for name, found in wrong.items()
                            if f'.{one.name}'.endswith(f'.{name}')),
                           (None, None))
        if what and one.status == 'fail':
            one = Result(one.name, 'skip', f'known: {what}')
        elif what and one.status == 'pass':
            one = Result(one.name, 'fail',
                         f'known to fail ({what}), but did not: is it '
                         f'mended? Then take it out of plan/known-{whose}.txt')
        judged.append(one)
    return judged


def _pattern(line):
    return re.compile(re.escape(line).replace(r'\*', '.*') + r'\Z')


def planned(name):
    """The test names that the plan file NAME expects."""
    path = PLANS / f'{name}.txt'
    if not path.exists():
        raise env.Refusal(f'a plan of expected tests, plan/{name}.txt',
                          'no such file', 'make plan writes one from a run')
    return [line for line in path.read_text().splitlines()
            if line and not line.startswith('#')]


def vanished(name, results, keep=lambda test: True, more=None):
    """A failure for every planned test, of those to KEEP, that is missing.

    The plan MORE has further names, all of them to keep. A boot that died has
    said so itself; what it did not reach is no news.
    """
    if any(one.status == 'fail' and one.name.endswith('.boot')
           for one in results):
        return []
    seen = {one.name for one in results}
    kept = [want for want in planned(name) if keep(want)]
    extra = seen - set(planned(name))
    if more:
        kept += planned(more)
        extra -= set(planned(more))
    missing = [want for want in kept
               if want not in seen
               and not ('*' in want
                        and any(_pattern(want).match(s) for s in seen))]
    if extra and len(extra) <= 40:
        progress.say(f'not in plan/{name}.txt yet: '
                     + ', '.join(sorted(extra)))
    return [Result(f'plan.{want}', 'fail',
                   'expected by the plan, but it never reported')
            for want in missing]


def write_plan(name, results):
    """Make plan/NAME.txt from RESULTS."""
    PLANS.mkdir(exist_ok=True)
    path = PLANS / f'{name}.txt'
    path.write_text(
        '# SPDX-License-Identifier: GPL-2.0\n'
        '# The tests that must report, one a line; `make plan` writes this '
        'file.\n# A name that is missing from a run is a failure.\n'
        + ''.join(f'{n}\n' for n in sorted({r.name for r in results})))
    progress.say(f'wrote {env.host(path)}')
