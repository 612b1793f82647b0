# SPDX-License-Identifier: GPL-2.0
"""What is read out of the output of Cargo's tests."""

from unittest import mock

import env
import host
import judges
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


class Skipped(support.Case):
    """A test that has nothing to look at."""

    def setUp(self):
        super().setUp()
        self.command = []
        for where, name, answer in ((host, 'fetch', None),
                                    (judges, 'environment', {})):
            self.enterContext(mock.patch.object(
                where, name, mock.Mock(return_value=answer)))
        self.enterContext(mock.patch.object(procs, 'run', self.cargo))

    def cargo(self, command, *_, on_line, **_others):
        self.command = command
        for line in _OUTPUT.splitlines():
            on_line(line)
        return 101

    def found(self):
        return {one.name: (one.status, one.reason) for one in host.rust()}

    def test_is_skipped_with_its_reason(self):
        self.assertEqual(self.found(), {
            'host.reads': ('pass', ''),
            'host.skips': ('skip', 'no kernel was built'),
            'host.breaks': ('fail', '')})

    def test_fails_where_there_is_a_kernel(self):
        self.write('work/build/x86_64-rust-test/vmlinux', '')
        found = self.found()
        self.assertEqual(found['host.reads'], ('pass', ''))
        self.assertEqual(found['host.skips'], (
            'fail', 'skipped, though one was built: no kernel was built'))

    def test_is_not_looked_for_where_others_run_it(self):
        self.found()
        place = self.command.index('--skip')
        self.assertEqual(self.command[place + 1], host._BOOTED)


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
