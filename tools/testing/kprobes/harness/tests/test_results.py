# SPDX-License-Identifier: GPL-2.0
"""Counting, known defects of C, and names that vanish."""

import contextlib
import errno
import io
from unittest import mock

import cli
import env
import guests
import maketest
import results
from ktap import Result
from tests import support


class Ending(support.Case):
    def close(self, *statuses):
        tally = results.Tally()
        tally.add([Result(f'case{n}', status, 'why')
                   for n, status in enumerate(statuses)])
        return tally.close()

    def last_line(self):
        return self.printed.getvalue().splitlines()[-1]

    def test_all_passed(self):
        self.assertEqual(self.close('pass', 'pass', 'skip'), 0)
        self.assertEqual(self.last_line(), '2 passed, 0 failed, 1 skipped')

    def test_one_failure_fails(self):
        self.assertEqual(self.close('pass', 'fail'), 1)
        self.assertEqual(self.last_line(), '1 passed, 1 failed, 0 skipped')
        self.assertIn('FAILED case1: why', self.printed.getvalue())

    def test_nothing_passed_fails(self):
        self.assertEqual(self.close(), 1)
        self.assertEqual(self.last_line(), '0 passed, 0 failed, 0 skipped')
        self.assertEqual(self.close('skip'), 1)
        self.assertIn('proves nothing', self.printed.getvalue())

    def test_skipped_are_shown_with_their_reason(self):
        self.close('pass', 'skip', 'skip')
        self.assertIn('skipped 2 (why): case1, case2',
                      self.printed.getvalue())


class Early(support.Case):
    """What ends before its time still ends with the line that counts."""

    def setUp(self):
        super().setUp()
        for where, name in ((cli.toolchain, 'require'), (cli, '_listen'),
                            (cli.results, 'vanished'),
                            (cli.procs, 'end_all')):
            self.enterContext(mock.patch.object(
                where, name, mock.Mock(return_value=[])))
        self.said = self.enterContext(contextlib.redirect_stderr(
            io.StringIO()))
        self.enterContext(mock.patch.dict('os.environ', {
            'ARCH': '', 'IMPL': '', 'PIECE': '', 'ARGS': ''}))

    def ends(self, command, check=None, tests=None, guest=None):
        """COMMAND, where its parts answer or raise; (status, last line)."""
        for where, name, answer in (
                (maketest.check, 'run', check), (maketest.host, 'rust', tests),
                (maketest.host, 'python', []), (maketest, 'add_kernel', None),
                (guests, 'main_tests', guest), (guests, 'crash_tests', []),
                (guests, 'modules', []),
                (cli.kernel, 'build', mock.Mock(arch='x86_64'))):
            self.enterContext(mock.patch.object(where, name, mock.Mock(
                **{'side_effect' if isinstance(answer, Exception)
                   else 'return_value': answer})))
        self.enterContext(mock.patch('sys.argv', ['kp', command]))
        self.printed.seek(0)
        self.printed.truncate()
        status = cli.main()
        return status, self.printed.getvalue().splitlines()[-1]

    def passed(self, name):
        return [Result(name, 'pass')]

    def test_a_refusal_is_a_failure_of_its_part(self):
        no = env.Refusal('a tool', 'none of it\nmore', 'get it')
        for part in ('check', 'tests'):
            parts = {**{name: self.passed(name)
                        for name in ('check', 'tests')}, part: no}
            self.assertEqual(self.ends('test', **parts),
                             (1, '1 passed, 1 failed, 0 skipped'), part)
            self.assertIn(': none of it\n', self.printed.getvalue())
            self.assertIn('get it', self.said.getvalue())

    def test_so_is_a_tool_that_is_not_there(self):
        self.assertEqual(self.ends(
            'test', check=FileNotFoundError(2, 'no', 'shellcheck'),
            tests=self.passed('a')),
            (1, '1 passed, 1 failed, 0 skipped'))
        self.assertIn('FAILED check.run: FileNotFoundError',
                      self.printed.getvalue())

    def test_so_is_a_full_disk(self):
        self.ends('test', check=self.passed('c'),
                  tests=OSError(errno.ENOSPC, 'full'))
        self.assertIn('FAILED host.run: the disk is full',
                      self.printed.getvalue())

    def test_a_command_that_cannot_go_on(self):
        for problem in (env.Refusal('a', 'b', 'c'), KeyError('x')):
            for command in ('check', 'host-test', 'kunit'):
                self.assertEqual(self.ends(
                    command, check=problem, tests=problem, guest=problem),
                    (2, '0 passed, 1 failed, 0 skipped'))

    def test_one_that_does_not_begin(self):
        with mock.patch.dict('os.environ', {'ARCH': 'mips'}):
            self.assertEqual(self.ends('test'),
                             (2, '0 passed, 1 failed, 0 skipped'))

    def test_all_that_count_are_commands(self):
        aliases = {'check': 'check-only', 'storm': 'storm-only'}
        for name in cli._COUNTING:
            self.assertIn(aliases.get(name, name), cli._COMMANDS)


class Plans(support.Case):
    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(results, 'PLANS', self.tmp))

    def vanished(self, plan, *seen):
        self.write('host.txt', plan)
        return [one.name for one in results.vanished(
            'host', [Result(name, 'pass') for name in seen])]

    def test_all_there(self):
        self.assertEqual(self.vanished('# comment\na\nb\n', 'a', 'b'), [])

    def test_one_vanished(self):
        self.assertEqual(self.vanished('a\nb\n', 'a'), ['plan.b'])

    def test_a_second_plan_has_more(self):
        self.write('host.txt', 'a\nb\n')
        self.write('more.txt', 'c\nd\n')
        found = results.vanished('host', [Result('c', 'pass')],
                                 lambda name: name == 'a', 'more')
        self.assertEqual([one.name for one in found], ['plan.a', 'plan.d'])
        self.assertNotIn('not in plan', self.printed.getvalue())

    def test_a_longer_name_is_another(self):
        self.assertEqual(self.vanished('a.b\n', 'a.bc', 'axb'), ['plan.a.b'])

    def test_star_stands_for_anything(self):
        self.assertEqual(self.vanished('s.*\n', 's.x', 's.y'), [])
        self.assertEqual(self.vanished('s.*.z\n', 's.x', 's.x.zz'),
                         ['plan.s.*.z'])

    def test_new_names_are_told(self):
        self.vanished('a\n', 'a', 'fresh')
        self.assertIn('not in plan/host.txt yet: fresh',
                      self.printed.getvalue())

    def test_no_plan_is_refused(self):
        with self.refused('plan/none.txt', 'make plan'):
            results.vanished('none', [])

    def test_written_plan_is_met_by_the_same_run(self):
        found = [Result('b', 'pass'), Result('a', 'skip')]
        results.write_plan('host', found)
        self.assertEqual(results.planned('host'), ['a', 'b'])
        self.assertEqual(results.vanished('host', found), [])


class KnownDefects(support.Case):
    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(results, 'PLANS', self.tmp))
        self.write('known-c.txt',
                   '# what C gets wrong\nclause.k defect D1\n')

    def judge(self, name, status):
        return results.judge([Result(name, status, 'x')], 'c')[0]

    def test_a_defect_that_shows_is_skipped(self):
        one = self.judge('x86_64.c.clause.k', 'fail')
        self.assertEqual((one.status, one.reason),
                         ('skip', 'known: defect D1'))

    def test_a_defect_that_is_gone_fails(self):
        one = self.judge('x86_64.c.clause.k', 'pass')
        self.assertEqual(one.status, 'fail')
        self.assertIn('(defect D1), but did not', one.reason)

    def test_others_are_left_alone(self):
        for status in ('pass', 'fail', 'skip'):
            self.assertEqual(self.judge('x86_64.c.other', status).status,
                             status)

    def test_a_name_that_only_ends_alike_is_another(self):
        self.assertEqual(self.judge('x86_64.c.subclause.k', 'fail').status,
                         'fail')

    def test_no_list_no_defects(self):
        (self.tmp / 'known-c.txt').unlink()
        self.assertEqual(self.judge('x86_64.c.clause.k', 'fail').status,
                         'fail')
