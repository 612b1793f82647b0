# SPDX-License-Identifier: GPL-2.0
"""What is read out of the output of Cargo's tests."""

from unittest import mock

import env
import host
import judges
import maketest
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


class Cargo(support.Case):
    """What Cargo's tests have printed."""

    def setUp(self) -> None:
        super().setUp()
        self.command: list[str] = []
        self.output = _OUTPUT
        self.replace((host, 'fetch', mock.Mock()), (judges, 'environment', dict),
                     (procs, 'run', self.cargo))

    def cargo(self, command, *_, on_line, **_others):
        self.command = command
        for line in self.output.splitlines():
            on_line(line)
        return 101

    def results(self, test: str = '') -> dict[str, tuple[str, str]]:
        return {result.name: (result.status, result.reason) for result in host.rust(test)}

    def test_verdicts_and_reasons(self) -> None:
        self.assertEqual(self.results(), {
            'host.reads': ('pass', ''),
            'host.skips': ('skip', 'no kernel was built'),
            'host.breaks': ('fail', '')})
        self.assertIn(f'--skip {host._BOOTED}', ' '.join(self.command))
        # Where there is a kernel, there is no reason to skip.
        self.write('work/build/x86_64-rust-test/vmlinux', '')
        self.assertEqual(self.results()['host.skips'], (
            'fail', 'skipped, though one was built: no kernel was built'))
        self.output = _OUTPUT.replace('test reads ... ok\n', '')
        self.assertEqual(self.results()['host.plan'], ('fail', '3 tests announced, 2 came'))

    def test_those_that_are_chosen(self) -> None:
        self.assertEqual([*self.results('*e*ds')], ['host.reads', 'host.breaks'])
        self.assertEqual(self.command[self.command.index('--') + 1], 'ds')

    def test_images_that_are_not_there_are_skipped(self) -> None:
        self.write('work/build/arm-c-test/vmlinux', '')
        reasons = {result.name: result.reason for result in host.fuzz()}
        self.assertIn('make kernel ARCH=s390x', reasons['fuzz.images.s390x'])
        self.assertNotIn('fuzz.images.arm', reasons)


class Harness(support.Case):
    """What is read out of the output of unittest."""

    def setUp(self) -> None:
        super().setUp()
        self.replace((env, 'HARNESS', self.tmp))
        self.write('tests/test_a.py', '')

    def results(self, test, output, status=0):
        def run(command, log, **_):
            self.command = command
            log.parent.mkdir(exist_ok=True)
            log.write_text(output)
            return status
        with mock.patch.object(procs, 'run', run):
            return {result.name: result.status for result in host.python(test)}

    def test_verdicts(self) -> None:
        name = 'tests.test_a.B'
        self.assertEqual(self.results('', f"""\
test_x ({name}.test_x) ... ok
test_y ({name}.test_y) ... FAIL
test_z ({name}.test_z) ... skipped 'no root'
setUpClass ({name}) ... ERROR
Ran 4 tests
""", 1), {'harness.test_a.B.test_x': 'pass', 'harness.test_a.B.test_y': 'fail',
          'harness.test_a.B.test_z': 'skip', 'harness.test_a.B': 'fail'})

    def test_those_that_are_chosen_or_lost(self) -> None:
        line = 'test_x (tests.test_a.B.test_x) ... ok\n'
        passed = {'harness.test_a.B.test_x': 'pass'}
        failed = {'harness.unittest': 'fail'}
        for test, output, status, results in (
                ('test_a.B', f'{line}Ran 1 test\n', 0, passed),
                ('B', f'{line}Ran 2 tests\n', 0, passed | failed),
                ('x', 'Ran 0 tests\n', 5, {}),
                ('', 'Ran 0 tests\n', 5, failed)):
            self.assertEqual(self.results(test, output, status), results)
            if test:
                self.assertEqual(self.command[-3:], ['-k', f'*{test}*', 'tests.test_a'])

    def test_whose_tests_run(self) -> None:
        ran = []
        for name in 'rust', 'python':
            self.replace((host, name, lambda test, name=name: ran.append((name, test)) or []))
        for test in 'host.a::b', 'harness.test_a', 'a':
            self.given(TEST=test)
            self.assertEqual(maketest.host_tests(), [])
        self.assertEqual(ran, [('rust', 'a::b'), ('python', 'test_a'),
                               ('rust', 'a'), ('python', 'a')])
