# SPDX-License-Identifier: GPL-2.0
"""Counting, known defects of C, and suites that vanish."""

import contextlib
import errno
import io
import re
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
        self.assertIn('FAILED case1: why (again: make test)\n',
                      self.printed.getvalue())

    def test_a_failure_names_its_log_and_a_command(self):
        tally = results.Tally()
        one = Result('host.a::b', 'fail', 'why', '/logs/a.log')
        tally.add([one])
        tally.add([one], 'make test-all PIECE=ground')
        first, second = self.printed.getvalue().splitlines()
        self.assertEqual(first, 'FAILED host.a::b: why (again: make host-test '
                         'TEST=host.a::b; log: /logs/a.log)')
        self.assertIn('(again: make test-all PIECE=ground; log', second)

    def test_product_and_harness_apart(self):
        self.close('pass')
        self.assertNotIn('product', self.printed.getvalue())
        tally = results.Tally()
        tally.add([Result('harness.test_a.B.c', 'pass'),
                   Result('plan.harness', 'fail'),
                   Result('selfcheck.a', 'skip'),
                   Result('host.a', 'pass'), Result('check.a', 'pass')])
        tally.close()
        self.assertEqual(self.printed.getvalue().splitlines()[-2:], [
            'product: 2 passed, 0 failed, 0 skipped; '
            'harness: 1 passed, 1 failed, 1 skipped',
            '3 passed, 1 failed, 1 skipped'])

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
            'ARCH': '', 'IMPL': '', 'PIECE': '', 'ARGS': '', 'TEST': ''}))

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
            self.assertIn(': none of it (again: ', self.printed.getvalue())
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


class Suites(support.Case):
    """What plan/suites.txt requires."""

    def vanished(self, plan, *names, parts='guest', kernel='x86_64-c-test'):
        self.enterContext(mock.patch.object(results, 'PLANS', self.tmp))
        self.write('suites.txt', plan)
        return [(one.name, one.reason) for one in results.vanished(
            parts, [Result(name, 'skip') for name in names], kernel)]

    def test_all_there(self):
        self.assertEqual(self.vanished(
            '[guest]\n*: a b/2 no-splat\n*-c-*: c\n', 'x86_64.c.a.1',
            'x86_64.c.b.1', 'x86_64.c.b.2.x', 'x86_64.c.c',
            'x86_64.c.no-splat'), [])

    def test_one_vanished(self):
        for names in ((), ('x86_64.c.ab.1', 'x86_64.c.b.a', 'b.a.1')):
            (name, reason), = self.vanished('[guest]\n*: a\n[x]\n*: ab b\n',
                                            *names)
            self.assertEqual(name, 'plan.x86_64.c.a')
            self.assertIn('it never reported', reason)

    def test_too_few_cases(self):
        self.assertEqual(
            self.vanished('[guest]\n*: a/3\n', 'x86_64.c.a.1', 'x86_64.c.a.2'),
            [('plan.x86_64.c.a', '2 results of at least 3')])

    def test_the_largest_number_counts(self):
        for rows in ('*: a/1\nx86*: a/2\n', 'x86*: a/2\n*: a/1\n'):
            self.assertTrue(self.vanished(f'[guest]\n{rows}', 'x86_64.c.a.1'))
            self.assertFalse(self.vanished(f'[guest]\n{rows}', 'arm.c.a.1',
                                           kernel='arm-c-test'))

    def test_kernels_without_a_suite(self):
        plan = '[guest]\n*: a b\n!*-rt *-up: a\n'
        for kernel in 'x86_64-rust-rt', 'arm-c-up':
            self.assertFalse(self.vanished(plan, 'x86_64.rust.b.1',
                                           kernel=kernel))
        self.assertTrue(self.vanished(plan, 'x86_64.rust.b.1',
                                      kernel='x86_64-rust-rtx'))

    def test_other_parts_are_not_required(self):
        plan = '[guest]\n*: a\n[kunit]\n*: b\n[storm]\n*: storm\n'
        self.assertEqual([name for name, _ in self.vanished(
            plan, parts='guest kunit')], ['plan.x86_64.c.a', 'plan.x86_64.c.b'])

    def test_modules_of_crates(self):
        self.assertEqual([name for name, _ in self.vanished(
            '[host]\n*: host.a/2 host.b harness/1\n', 'host.a::x',
            'host.a::y::z', 'host.bb::x', 'harness.test_a.B.c', parts='host',
            kernel='')], ['plan.host.b'])

    def test_what_no_list_has_is_named(self):
        self.vanished('[guest]\n*: a\n[x]\ns390x-*: b\n[host]\n*: host.a\n',
                      'x86_64.c.a.1', 'x86_64.c.b.1', 'x86_64.c.new.1',
                      'x86_64.c.new.2', 'host.a::x', 'host.fresh::x')
        self.assertEqual(self.printed.getvalue(),
                         'not in plan/suites.txt, add it: host.fresh, new\n')

    def test_a_guest_that_died_has_said_so(self):
        self.vanished('[guest]\n*: a\n')
        self.assertEqual(results.vanished(
            'guest', [Result('x86_64.c.boot', 'fail')], 'x86_64-c-test'), [])

    def test_the_list_has_all_that_the_sources_define(self):
        defined = set()
        for folder, glob, pattern in (
                ('rust', '*.rs', r'kunit_tests\((\w+)\)'),
                ('arch', '*.rs', r'kunit_tests\((\w+)\)'),
                ('tools/testing/kprobes', '*.c', r'\.name = "((?:clauses|forms)\w*)"'),
                ('tools/testing/kprobes/guest', '*.sh', r'^\s*suite (\w+)$')):
            named = {name for path in (env.REPO / folder).rglob(glob)
                     for name in re.findall(pattern, path.read_text(), re.M)}
            self.assertTrue(named)
            defined |= named
        self.assertEqual(defined - results.listed(), set())


class Chosen(support.Case):
    """TEST=: what runs again, and what of a boot is counted."""

    def test_the_command_that_runs_a_test_again(self):
        for name, command in (
                ('check.spdx', 'check'), ('plan.check.layers', 'check'),
                ('check-kernel.compile-fail.a', 'check-kernel'),
                ('host.a::b::c', 'host-test TEST=host.a::b::c'),
                ('plan.host.model', 'host-test'), ('host.plan', 'host-test'),
                ('harness.test_a.B.c',
                 'host-test TEST=harness.test_a.B.c'),
                ('miri.pure.model::x', 'host-miri'),
                ('x86_64.rust.kprobes_test.a', 'kunit TEST=kprobes_test.a'),
                ('x86_64.rust.kprobes_test.plan', 'kunit TEST=kprobes_test'),
                ('plan.x86_64.rust.modules', 'selftest TEST=modules'),
                ('arm.c.modules.a',
                 'selftest ARCH=arm IMPL=c TEST=modules.a'),
                ('x86_64.rust.no-splat', 'selftest'),
                ('x86_64.c.boot', 'selftest ARCH=x86_64 IMPL=c'),
                ('x86_64.rust.build', 'test'),
                ('x86_64.rust.storm.a', 'storm'),
                ('x86_64.rust.storm-piecewise.boot', 'storm'),
                ('x86_64.c.coverage.ratio', 'coverage'),
                ('x86_64.c.clients.kprobe.a',
                 'test-all PIECE=clients-x86_64-c'),
                ('x86_64.rust.plants.a', 'test-all PIECE=rust-x86_64-kasan'),
                ('clients.perf.a', 'test-clients'),
                ('c.clients.boot', 'test-clients'),
                ('commands.bench', 'bench'), ('series.0001-a', 'series')):
            self.assertEqual(results.again(name), f'make {command}', name)

    def run_command(self, command, test):
        """What COMMAND counts with TEST; which boots it makes, and how."""
        self.calls = []

        def boot(name):
            def run(_, *words, **options):
                self.calls.append((name, *words[:name == 'kunit'],
                                   *options.values()))
                return [Result(f'x86_64.rust.{line}', status)
                        for line, status in (
                            ('suite.a', 'pass'), ('suite.b', 'fail'),
                            ('other.a', 'fail'), ('no-splat', 'fail'),
                            ('modules.a.x', 'pass'), ('crash.a', 'pass'))]
            return run
        built = mock.Mock(arch='x86_64', impl='rust')
        for where, name, put in (
                (cli.kernel, 'build', lambda *_: built),
                (guests, 'modules', lambda _: []),
                (guests, 'kunit_tests', boot('kunit')),
                (guests, 'main_tests', boot('tests')),
                (guests, 'crash_tests', boot('crashes'))):
            self.enterContext(mock.patch.object(where, name, put))
        self.enterContext(mock.patch.dict('os.environ', {
            'ARCH': '', 'IMPL': '', 'TEST': test}))
        command()
        return self.printed.getvalue().splitlines()[-1]

    def test_kunit_is_told(self):
        self.assertEqual(self.run_command(cli.kunit, 'suite.*'),
                         '1 passed, 2 failed, 0 skipped')
        self.assertEqual(self.calls, [('kunit', 'kunit.filter_glob=suite.*')])

    def test_the_guest_is_asked_for_what_is_chosen(self):
        for test, cases, counts in (
                ('modules.a', 'modules.a', '1 passed, 1 failed, 0 skipped'),
                ('modules.a.x', 'modules.a', '1 passed, 1 failed, 0 skipped'),
                ('graph.a', 'clauses*', '0 passed, 1 failed, 0 skipped')):
            self.assertEqual(self.run_command(cli.selftest, test), counts)
            self.assertEqual(self.calls,
                             [('tests', f'kunit.filter_glob={cases}')])

    def test_crashes_have_boots_of_their_own(self):
        self.run_command(cli.selftest, 'crash.a')
        self.assertEqual(self.calls, [('crashes',)])
        self.run_command(cli.selftest, '*.a')
        self.assertEqual([name for name, *_ in self.calls],
                         ['tests', 'crashes'])


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
