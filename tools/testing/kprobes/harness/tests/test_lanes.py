# SPDX-License-Identifier: GPL-2.0
"""What runs beside what, and what make test makes of an architecture."""

from unittest import mock

import arches
import env
import guests
import maketest
import progress
import results
from ktap import Result
from lanes import Group, Lanes
from tests import support


class Order(support.Case):
    def setUp(self) -> None:
        super().setUp()
        self.tally = results.Tally()
        self.lanes = Lanes(self.tally)

    def test_a_group_is_judged_once_all_of_it_has_run(self) -> None:
        judged = []

        def judge(leaves):
            judged.append(sorted(leaf.name for leaf in leaves))
            return [Result('judged', 'pass')]
        group = Group('arm', 1, judge)

        def build():
            for name in ('one', 'two'):
                self.lanes.guest(group, name, lambda name=name: [Result(name, 'pass')])
            return [Result('build', 'pass')]
        self.lanes.compile(group, 'build', build)
        self.lanes.run()
        self.assertEqual(judged, [['build', 'one', 'two']])
        self.assertIn(Result('judged', 'pass'), self.tally.results)

    def test_a_judge_that_breaks_off_fails(self) -> None:
        def judge(_):
            raise env.Refusal('a list of suites', 'none', 'write one')
        group = Group('arm', 1, judge)
        self.lanes.compile(group, 'build', lambda: [Result('build', 'pass')])
        self.lanes.run()
        self.assertEqual({leaf.name: leaf.status
                          for leaf in self.tally.results},
                         {'build': 'pass', 'arm.judge': 'fail'})


class MakeTest(support.Case):
    def test_budgets_and_an_architecture_that_cannot_be_built(self) -> None:
        def took(name, minutes):
            def run(*_, **options):
                progress.budget(progress._at_hand.group, 0, minutes * 60)
                return [Result(name, 'pass')]
            return run

        def build(arch, impl):
            if arch == 's390x':
                raise env.Refusal('the package busybox-static:s390x', 'no', '')
            return mock.Mock(arch=arch, impl=impl, machine=arches.of(arch))
        self.replace(
            (maketest.check, 'run', took('check', 1)),
            (maketest.host, 'rust', took('rust', 10)),
            (maketest.host, 'python', took('python', 3)),
            (maketest.kernel, 'build', build),
            (guests, 'modules', lambda *_: []),
            (guests, 'main_tests', took('tests', 19)),
            (guests, 'form_tests', took('forms', 1)),
            (guests, 'crash_tests', took('crashes', 1)),
            (guests, 'storm', took('storm', 1)),
            (maketest, 'clients', took('clients', 1)),
            (maketest.checkkernel, 'run', took('check-kernel', 1)),
            (results, 'vanished', lambda *_: []),
            (maketest.variables, 'arches', lambda: ['x86_64', 'arm', 's390x']),
            (maketest.variables, 'impl_in', lambda arch: 'rust' if arch == 'x86_64' else 'c'))
        self.given(TEST='')
        self.assertEqual(maketest.run(), 1)
        for line in (r'check and host tests, of these +13.0 +14.0  OVER',
                     r'arm, of these +18.0 +19.0  OVER BUDGET',
                     r'x86_64, of these +36.0 +24.0\n',
                     r'FAILED s390x.c.build: no',
                     r'\d+ passed, 1 failed, 0 skipped\n\Z'):
            self.assertRegex(self.printed.getvalue(), line)
