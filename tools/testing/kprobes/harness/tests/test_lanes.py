# SPDX-License-Identifier: GPL-2.0
"""What runs beside what, and what make test makes of an architecture."""

import threading
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
    def setUp(self):
        super().setUp()
        self.tally = results.Tally()
        self.lanes, self.group = Lanes(self.tally), Group('group', 1)

    def names(self):
        return [leaf.name for leaf in self.tally.results]

    def test_a_guest_runs_while_the_next_kernel_is_built(self):
        meet = threading.Barrier(2, timeout=10)

        def meeting(name):
            meet.wait()
            return [Result(name, 'pass')]

        def build():
            self.lanes.guest(self.group, 'boot', lambda: meeting('boot'))
            return [Result('build', 'pass')]
        self.lanes.compile(self.group, 'build', build)
        self.lanes.compile(self.group, 'next', lambda: meeting('next'))
        self.lanes.run()
        self.assertEqual(self.names()[0], 'build')
        self.assertEqual(set(self.names()), {'build', 'boot', 'next'})

    def test_compilations_are_one_at_a_time(self):
        running, most = [], []

        def build():
            running.append(1)
            most.append(len(running))
            threading.Event().wait(0.02)
            running.pop()
            return []
        for number in range(4):
            self.lanes.compile(self.group, str(number), build)
        self.lanes.run()
        self.assertEqual(most, [1] * 4)

    def test_a_group_is_judged_once_all_of_it_has_run(self):
        judged = []

        def judge(found):
            judged.append(sorted(leaf.name for leaf in found))
            return [Result('judged', 'pass')]
        group = Group('arm', 1, judge)

        def build():
            for name in ('one', 'two'):
                self.lanes.guest(group, name,
                                 lambda name=name: [Result(name, 'pass')])
            return [Result('build', 'pass')]
        self.lanes.compile(group, 'build', build)
        self.lanes.run()
        self.assertEqual(judged, [['build', 'one', 'two']])
        self.assertIn('judged', self.names())

    def test_what_breaks_off_fails_and_the_rest_goes_on(self):
        def refuse():
            raise env.Refusal('a package', 'none', 'fetch it')
        self.lanes.compile(self.group, 's390x.build', refuse)
        self.lanes.compile(self.group, 'arm.build',
                           lambda: [Result('arm', 'pass')])
        with mock.patch('sys.stderr'):
            self.lanes.run()
        self.assertEqual({leaf.name: leaf.status
                          for leaf in self.tally.results},
                         {'s390x.build': 'fail', 'arm': 'pass'})

    def test_an_interrupt_ends_all_that_runs(self):
        over = threading.Event()
        self.enterContext(mock.patch('procs.end_all', over.set))
        self.lanes.guest(self.group, 'boot', lambda: [
            Result('boot', 'pass' if over.wait(10) else 'fail')])
        with mock.patch('threading.Thread.join',
                        side_effect=[KeyboardInterrupt, None, None, None]), \
                self.assertRaises(KeyboardInterrupt):
            self.lanes.run()
        self.assertTrue(over.is_set())
        self.assertEqual(self.names(), [])


class MakeTest(support.Case):
    """The parts of make test, with budgets, in one run."""

    def took(self, name, minutes):
        def run(*_):
            with progress.Stage(name, 1):
                pass
            progress.budget(progress._at_hand.group, 0, minutes * 60)
            return [Result(name, 'pass')]
        return run

    def run_it(self, build=None):
        built = mock.Mock(arch='arm')
        for where, name, answer in (
                (maketest.check, 'run', self.took('check', 1)),
                (maketest.host, 'rust', self.took('rust', 5)),
                (maketest.host, 'python', self.took('python', 3)),
                (maketest.kernel, 'build', build or (lambda *_: built)),
                (guests, 'modules', lambda *_: []),
                (guests, 'main_tests', self.took('tests', 11)),
                (guests, 'crash_tests', self.took('crashes', 1)),
                (guests, 'storm', self.took('storm', 1)),
                (maketest, 'clients', self.took('clients', 1)),
                (maketest.checkkernel, 'run', self.took('check-kernel', 1)),
                (results, 'vanished', lambda *_: []),
                (maketest.variables, 'arches', lambda: ['x86_64', 'arm']),
                (maketest.variables, 'impl_in',
                 lambda arch: 'rust' if arch == 'x86_64' else 'c')):
            self.enterContext(mock.patch.object(where, name, answer))
        built.machine = arches.of('arm')
        with mock.patch('sys.stderr'):
            status = maketest.run()
        return status, self.printed.getvalue()

    def test_budgets(self):
        status, text = self.run_it()
        self.assertEqual(status, 0)
        self.assertRegex(text, r'check and host tests, of these +8.0 +9.0  OVER')
        self.assertRegex(text, r'arm, of these +10.0 +11.0  OVER BUDGET')
        self.assertRegex(text, r'x86_64, of these +18.0 +14.0\n')
        self.assertRegex(text, r'elapsed +25.0 +0.0\n')

    def test_it_goes_on_without_an_architecture(self):
        def build(arch, _):
            if arch == 'arm':
                raise env.Refusal('the package busybox-static:armhf', 'no', '')
            return mock.Mock(arch=arch, machine=arches.of(arch))
        status, text = self.run_it(build)
        self.assertEqual(status, 1)
        self.assertIn('FAILED arm.c.build: no', text)
        self.assertRegex(text, r'\d+ passed, 1 failed, 0 skipped\n\Z')
