# SPDX-License-Identifier: GPL-2.0
"""What is read out of the output of Cargo's tests."""

from unittest import mock

import env
import host
import judges
import maketest
import packages
import procs
from tests import support

_OUTPUT = '''\
running 3 tests
test reads ... ok
test skips ... ok
test breaks ... FAILED

successes:

---- reads stdout ----
jumps: 7 addresses

---- skips stdout ----
skipped: no kernel was built

failures:

---- breaks stdout ----
skipped: no kernel was built
it panicked

test result: FAILED. 2 passed; 1 failed
'''


class Python(support.Case):
    """How these very tests are counted."""

    def test_verdicts(self) -> None:
        for line, name, verdict in (
                ('test_a (tests.test_x.C.test_a) ... ok',
                 'tests.test_x.C.test_a', 'ok'),
                ('test_a (tests.test_x.C.test_a) ... FAIL',
                 'tests.test_x.C.test_a', 'FAIL'),
                ("test_a (tests.test_x.C.test_a) ... skipped 'no root'",
                 'tests.test_x.C.test_a', "skipped 'no root'"),
                ('setUpClass (tests.test_x.C) ... ERROR',
                 'tests.test_x.C', 'ERROR')):
            match = host._UNIT.match(line)
            self.assertEqual((match[2], match[3]), (name, verdict))


class Cargo(support.Case):
    """What Cargo's tests have printed."""

    def setUp(self) -> None:
        super().setUp()
        self.command: list[str] = []
        self.output = _OUTPUT
        for where, name, answer in ((host, 'fetch', None),
                                    (judges, 'environment', {})):
            self.enterContext(mock.patch.object(
                where, name, mock.Mock(return_value=answer)))
        self.enterContext(mock.patch.object(procs, 'run', self.cargo))

    def cargo(self, command, *_, on_line, **_others):
        self.command = command
        for line in self.output.splitlines():
            on_line(line)
        return 101

    def results(self, test: str = '') -> dict[str, tuple[str, str]]:
        return {result.name: (result.status, result.reason)
                for result in host.rust(test)}

    def test_what_is_skipped_has_its_reason(self) -> None:
        self.assertEqual(self.results(), {
            'host.reads': ('pass', ''),
            'host.skips': ('skip', 'no kernel was built'),
            'host.breaks': ('fail', '')})

    def test_what_is_skipped_fails_where_there_is_a_kernel(self) -> None:
        self.write('work/build/x86_64-rust-test/vmlinux', '')
        results = self.results()
        self.assertEqual(results['host.reads'], ('pass', ''))
        self.assertEqual(results['host.skips'], (
            'fail', 'skipped, though one was built: no kernel was built'))

    def test_what_others_run_is_left_out(self) -> None:
        self.results()
        place = self.command.index('--skip')
        self.assertEqual(self.command[place + 1], host._BOOTED)

    def test_one_that_never_came_fails(self):
        self.output = _OUTPUT.replace('test reads ... ok\n', '')
        self.assertEqual(self.results()['host.plan'],
                         ('fail', '3 tests announced, 2 came'))

    def test_those_that_are_chosen(self):
        for test, word, names in (
                ('re', ['re'], ['host.breaks', 'host.reads']),
                ('*e*ds', ['ds'], ['host.breaks', 'host.reads']),
                ('s*ps', ['ps'], ['host.breaks', 'host.skips']),
                ('*', [], ['host.breaks', 'host.reads', 'host.skips'])):
            self.assertEqual(sorted(self.results(test)), names)
            place = self.command.index('--')
            self.assertEqual(self.command[place + 1:-4], word)


class Harness(support.Case):
    """What is read out of the output of unittest."""

    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(env, 'HARNESS', self.tmp))
        self.write('tests/test_a.py', '')

    def found(self, test, output, status=0):
        def run(command, log, **_):
            self.command = command
            log.parent.mkdir(exist_ok=True)
            log.write_text(output)
            return status
        with mock.patch.object(procs, 'run', run):
            return [(one.name, one.status) for one in host.python(test)]

    def test_one_is_chosen(self):
        self.assertEqual(self.found(
            'test_a.B', 'test_x (tests.test_a.B.test_x) ... ok\nRan 1 test\n'),
            [('harness.test_a.B.test_x', 'pass')])
        self.assertEqual(self.command[-3:],
                         ['-k', '*test_a.B*', 'tests.test_a'])

    def test_verdicts_that_are_lost(self):
        self.assertEqual(self.found(
            'B', 'test_x (tests.test_a.B.test_x) ... ok\nRan 2 tests\n'), [
                ('harness.test_a.B.test_x', 'pass'),
                ('harness.unittest', 'fail')])

    def test_none_is_chosen(self):
        self.assertEqual(self.found('x', 'Ran 0 tests\n', 5), [])
        self.assertEqual(self.found('', 'Ran 0 tests\n', 5),
                         [('harness.unittest', 'fail')])


class Chosen(support.Case):
    def test_whose_tests_run(self):
        ran = []
        for name in 'rust', 'python':
            self.enterContext(mock.patch.object(
                host, name, lambda test, name=name: ran.append((name, test))
                or []))
        for test in 'host.a::b', 'harness.test_a', 'a':
            self.enterContext(mock.patch.dict('os.environ', {'TEST': test}))
            self.assertEqual(maketest.host_tests(), [])
        self.assertEqual(ran, [('rust', 'a::b'), ('python', 'test_a'),
                               ('rust', 'a'), ('python', 'a')])


class Crates(support.Case):
    """Fetching, once more after a pause."""

    def fetched(self, *statuses):
        (env.CACHE / 'cargo').mkdir(exist_ok=True)
        with mock.patch.object(packages, 'PAUSE', 0), \
                mock.patch.object(procs, 'run', side_effect=statuses):
            host.fetch()

    def test_a_registry_that_answers_after_a_pause(self):
        self.fetched(101, 0)
        self.fetched()

    def test_no_registry(self):
        with self.refused('crates of Cargo.lock', 'network', 'works without'):
            self.write('work/logs/cargo-fetch.log', 'no network')
            self.fetched(101, 101)
