# SPDX-License-Identifier: GPL-2.0
"""Counting, known defects of C, and suites that vanish."""

import errno
import re
from unittest import mock

import arches
import cli
import env
import guests
import maketest
import results
from ktap import Result
from tests import support

# How C names a suite of clauses or forms.
_SUITE = r'(?:\.name = "|CLAUSES_SUITE\()((?:clauses|forms)\w*)'


class Ending(support.Case):
    def test_what_a_run_ends_with(self) -> None:
        for statuses, status, *lines in (
                (['pass', 'pass', 'skip'], 0, 'skipped 1 (why): case2',
                 '2 passed, 0 failed, 1 skipped'),
                (['pass', 'fail'], 1, '1 passed, 1 failed, 0 skipped'),
                ([], 1, '0 passed, 0 failed, 0 skipped'),
                (['skip'], 1, 'nothing passed: a run without one passed test '
                 'proves nothing and counts as failed',
                 '0 passed, 0 failed, 1 skipped')):
            tally = results.Tally()
            tally.add([Result(f'case{number}', each, 'why')
                       for number, each in enumerate(statuses)])
            self.assertEqual(tally.close(), status)
            self.assertEqual(self.printed.getvalue().splitlines()[-len(lines):], lines)
        self.assertNotIn('product: ', self.printed.getvalue())

    def test_what_is_of_the_harness_is_counted_apart(self) -> None:
        tally = results.Tally()
        tally.add([Result(name, status) for name, status in (
            ('host.a', 'pass'), ('plan.arm.c.a', 'fail'), ('check.a', 'fail'),
            ('harness.a', 'pass'), ('plan.harness', 'fail'), ('selfcheck.a', 'skip'))])
        tally.close()
        self.assertIn('\nproduct: 1 passed, 2 failed, 0 skipped; '
                      'harness: 1 passed, 1 failed, 1 skipped\n', self.printed.getvalue())

    def test_a_failure_names_its_log_and_a_command(self) -> None:
        tally = results.Tally()
        failure = Result('host.a::b', 'fail', 'why', '/logs/a.log')
        tally.add([failure])
        tally.add([failure], 'make test-all PIECE=ground')
        first, second = self.printed.getvalue().splitlines()
        self.assertEqual(first, 'FAILED host.a::b: why (again: make host-test '
                         'TEST=host.a::b; log: /logs/a.log)')
        self.assertIn('(again: make test-all PIECE=ground; log', second)


class Early(support.Case):
    """What ends before its time still ends with the line that counts."""

    def setUp(self) -> None:
        super().setUp()
        self.replace((cli, '_catch_signals', mock.Mock()), (results, 'vanished', lambda *_: []))
        self.given(ARCH='', IMPL='', PIECE='', ARGS='', TEST='')

    def ends(self, command, check=None, tests=None, guest=None):
        """COMMAND, where its parts answer or raise; (status, last line)."""
        for where, name, answer in (
                (maketest.check, 'run', check), (maketest.host, 'rust', tests),
                (maketest.host, 'python', []), (maketest, 'add_kernel', None),
                (guests, 'main_tests', guest), (guests, 'crash_tests', []),
                (guests, 'modules', []),
                (cli.kernel, 'build', mock.Mock(arch='x86_64'))):
            self.replace((where, name, mock.Mock(
                **{'side_effect' if isinstance(answer, Exception)
                   else 'return_value': answer})))
        self.enterContext(mock.patch('sys.argv', ['kp', command]))
        self.printed.seek(0)
        self.printed.truncate()
        status = cli.main()
        return status, self.printed.getvalue().splitlines()[-1]

    def test_what_breaks_off_is_a_failure_of_its_part(self) -> None:
        passed = [Result('a', 'pass')]
        for problem, reason in (
                (env.Refusal('a tool', 'none of it\nmore', 'get it', '/a.log'),
                 r'run: none of it \(again: .*; log: /a\.log\)'),
                (FileNotFoundError(2, 'no', 'shellcheck'), r'run: FileNotFoundError.*; log: \S+/'),
                (OSError(errno.ENOSPC, 'full'), 'run: the disk is full')):
            for part, name in ('check', 'check'), ('tests', 'host'):
                parts = {'check': passed, 'tests': passed, part: problem}
                self.assertEqual(self.ends('test', **parts),
                                 (1, '1 passed, 1 failed, 0 skipped'), part)
                self.assertRegex(self.printed.getvalue(), rf'FAILED {name}\.{reason}')
        self.assertIn('get it', self.stderr.getvalue())

    def test_a_command_that_cannot_go_on_or_begin(self) -> None:
        end = 2, '0 passed, 1 failed, 0 skipped'
        for problem in (env.Refusal('a', 'b', 'c'), KeyError('x')):
            for command in ('check', 'host-test', 'kunit'):
                self.assertEqual(self.ends(command, problem, problem, problem), end)
        with mock.patch.dict('os.environ', {'ARCH': 'mips'}):
            self.assertEqual(self.ends('test'), end)


class Suites(support.Case):
    """What plan/suites.txt requires."""

    def vanished(self, plan, *names, parts='guest', kernel='x86_64-c-test'):
        self.replace((results, 'PLANS', self.tmp))
        self.write('suites.txt', plan)
        return [(result.name, result.reason) for result in results.vanished(
            parts, [Result(name, 'fail' if name.endswith(('boot', 'build')) else 'skip')
                    for name in names], kernel)]

    def test_what_never_reported_or_too_little_fails(self) -> None:
        numbers = '[guest]\n*: a/1\nx86*: a/2\n', '[guest]\nx86*: a/2\n*: a/1\n'
        without = '[guest]\n*: a b\n!*-rt *-up: a\n'
        a1, kernels = 'x86_64.c.a.1', 'x86_64-c-test'
        for plan, names, kernel, missing in (
                ('[guest]\n*: a b/2 no-splat\n*-c-*: c\n', [
                    a1, 'x86_64.c.b.1', 'x86_64.c.b.2.x', 'x86_64.c.c',
                    'x86_64.c.no-splat'], kernels, []),
                ('[guest]\n*: a\n[x]\n*: ab b\n', [], kernels, ['c.a']),
                ('[guest]\n*: a\n', ['x86_64.c.ab.1', 'x86_64.c.b.a',
                                     'b.a.1'], kernels, ['c.a']),
                ('[guest]\n*: a/3\n', [a1, 'x86_64.c.a.2'], kernels,
                 ['c.a']),
                # The largest number counts.
                *((rows, [a1], kernels, ['c.a']) for rows in numbers),
                *((rows, ['arm.c.a.1'], 'arm-c-test', []) for rows in numbers),
                # Some kernels are without a suite.
                (without, ['x86_64.rust.b.1'], 'x86_64-rust-rt', []),
                (without, ['arm.c.b.1'], 'arm-c-up', []),
                (without, ['x86_64.rust.b.1'], 'x86_64-rust-rtx', ['rust.a']),
                # A guest that died has said so.
                *(('[guest]\n*: a\n', [f'x86_64.c.{by}'], kernels, []) for by in
                  ('boot', 'build'))):
            with self.subTest(plan=plan, names=names):
                arch = kernel.partition('-')[0]
                vanished = self.vanished(plan, *names, kernel=kernel)
                self.assertEqual([name for name, _ in vanished],
                                 [f'plan.{arch}.{name}' for name in missing])

    def test_parts_modules_of_crates_and_reasons(self) -> None:
        plan = '[guest]\n*: a/3\n[kunit]\n*: b\n[storm]\n*: storm\n'
        (first, few), (second, none) = self.vanished(plan, 'x86_64.c.a.1', parts='guest kunit')
        self.assertEqual((first, second), ('plan.x86_64.c.a', 'plan.x86_64.c.b'))
        self.assertIn('1 results of at least 3', few)
        self.assertIn('it never reported', none)
        self.assertEqual([name for name, _ in self.vanished(
            '[host]\n*: host.a/2 host.b harness/1\n', 'host.a::x',
            'host.a::y::z', 'host.bb::x', 'harness.test_a.B.c', parts='host',
            kernel='')], ['plan.host.b'])

    def test_the_list_has_all_that_the_sources_define(self) -> None:
        defined = set()
        for folder, glob, pattern in (
                ('rust', '*.rs', r'kunit_tests\((\w+)\)'),
                ('arch', '*.rs', r'kunit_tests\((\w+)\)'),
                ('lib', '*.c', _SUITE),
                ('arch', '*.c', _SUITE),
                ('tools/testing/selftests', '*.sh', r'^\s*suite (\w+)$')):
            named = {name for path in (env.REPO / folder).rglob(glob)
                     for name in re.findall(pattern, path.read_text(), re.M)}
            self.assertTrue(named)
            defined |= named
        self.assertEqual(defined - results.listed(), set())


class Chosen(support.Case):
    """TEST=: what runs again, and what of a boot is counted."""

    def test_the_command_that_runs_a_test_again(self) -> None:
        for name, command in (
                ('plan.check.layers', 'check'),
                ('host.a::b::c', 'host-test TEST=host.a::b::c'),
                ('harness.test_a.B.c', 'host-test TEST=harness.test_a.B.c'),
                ('x86_64.rust.kprobes_test.a', 'kunit TEST=kprobes_test.a'),
                ('plan.x86_64.rust.modules', 'selftest TEST=modules'),
                ('arm.c.modules.a',
                 'selftest ARCH=arm IMPL=c TEST=modules.a'),
                ('x86_64.rust.no-splat', 'selftest'), ('s390x.c.build', 'test ARCH=s390x IMPL=c'),
                ('plan.arm.rust.check-kernel.text', 'check-kernel ARCH=arm'),
                ('arm.c.coverage.ratio', 'coverage ARCH=arm'),
                ('plan.arm.coverage', 'coverage ARCH=arm'),
                ('arm.rust.modules.a_[b]', 'selftest ARCH=arm TEST=modules.a_*b*'),
                ('x86_64.rust.forms.boot', 'selftest TEST=forms*'),
                ('x86_64.rust.storm-piecewise.boot', 'storm'),
                ('commands.bench', 'bench'), ('series.0001-a', 'series')):
            self.assertEqual(results.again(name), f'make {command}', name)

    def run_command(self, command, test):
        """The last line of COMMAND with TEST; its boots are in self.calls."""
        self.calls = []

        def boot(name):
            def run(_, *words, **options):
                self.calls.append((name, *words[:name == 'kunit'],
                                   *options.get('cmdline', '').split()[-1:]))
                return [Result(f'x86_64.rust.{line}', status)
                        for line, status in (
                            ('suite.a', 'pass'), ('suite.b', 'fail'),
                            ('other.a', 'fail'), ('no-splat', 'fail'),
                            ('modules.a.x', 'pass'), ('crash.a', 'pass'))]
            return run
        self.replace(
            (cli.kernel, 'build', lambda *_: mock.Mock(
                impl='rust', machine=arches.of('x86_64'))),
            (guests, 'modules', lambda _: []),
            (guests, 'kunit_tests', boot('kunit')),
            (guests, 'main_tests', boot('tests')),
            (guests, 'form_tests', boot('forms')),
            (guests, 'crash_tests', boot('crashes')))
        self.given(ARCH='', IMPL='', TEST=test)
        cli.tests(command)
        return self.printed.getvalue().splitlines()[-1]

    def test_what_is_booted_and_counted(self) -> None:
        for command, test, calls, passed, failed in (
                ('kunit', 'suite.*', [('kunit', 'suite.*')], 1, 2),
                ('selftest', 'modules.a.x', [('tests', 'modules.a')], 1, 1),
                ('selftest', 'graph.a', [('tests', 'clauses*')], 0, 1),
                ('selftest', 'forms*.a', [('tests', 'forms*.a'), ('forms', 'forms*.a')], 0, 2),
                ('selftest', 'crash.a', [('crashes', None)], 1, 1),
                ('selftest', '*.a', [('tests', '*.a'), ('forms', '*.a'), ('crashes', None)],
                 9, 6)):
            with self.subTest(test):
                ended = self.run_command(command, test)
                self.assertEqual(self.calls, [
                    (name, f'kunit.filter_glob={cases}') if cases else (name,)
                    for name, cases in calls])
                self.assertEqual(ended, f'{passed} passed, {failed} failed, 0 skipped')


class KnownDefects(support.Case):
    def test_what_is_known_is_skipped_and_fails_once_it_is_gone(self) -> None:
        self.replace((results, 'PLANS', self.tmp))
        for known, name, status, expected, reason in (
                (True, 'clause.k', 'fail', 'skip', 'known: defect D1'),
                (True, 'clause.k', 'pass', 'fail', '(defect D1), but did not'),
                *((True, 'other', status, status, 'x')
                  for status in ('pass', 'fail', 'skip')),
                (True, 'subclause.k', 'fail', 'fail', 'x'),
                (False, 'clause.k', 'fail', 'fail', 'x')):
            path = self.write('known-c.txt', '# what C gets wrong\nclause.k defect D1\n')
            if not known:
                path.unlink()
            judged, = results.judge([Result(f'x86_64.c.{name}', status, 'x')], 'c')
            self.assertEqual(judged.status, expected)
            self.assertIn(reason, judged.reason)
