# SPDX-License-Identifier: GPL-2.0
"""Two of us at once: one after the other, and the second says so."""

import threading
import time
from collections.abc import Callable

import check
import cli
import env
import host
import overlay
from tests import support


class Turns(support.Case):
    def setUp(self) -> None:
        super().setUp()
        self.record: list = []

    def slowly(self, *_) -> list:
        """What two must not do at once."""
        self.record.append('begin')
        time.sleep(0.1)
        self.record.append('end')
        return []

    def both(self, function: Callable) -> None:
        """FUNCTION twice at once, the first already at work."""
        threads = [threading.Thread(target=function) for _ in range(2)]
        for thread in threads:
            thread.start()
            while not self.record and thread.is_alive():
                time.sleep(0.001)
        for thread in threads:
            thread.join()

    def test_each_part_that_writes_waits_and_says_for_what(self) -> None:
        def kunit():
            with cli._turn('kunit'):
                self.slowly()
        self.replace((env, 'KSRC', self.kernel_tree('linux')), (host, 'fetch', lambda: None),
                     *((module, name, self.slowly) for module, name in (
                         (check, '_run_all'), (host, '_rust'), (overlay, '_apply'))))
        for function, busy in (
                (check.run, 'this checkout is busy with "checks"'),
                (host.rust, 'this checkout is busy with "host tests"'),
                (kunit, 'this checkout is busy with "make kunit"'),
                (overlay.apply,
                 f'{env.KSRC} is busy with "another command"')):
            with self.subTest(busy):
                self.record.clear()
                self.printed.truncate(0)
                self.printed.seek(0)
                self.both(function)
                self.assertEqual(self.record, ['begin', 'end'] * 2)
                self.assertEqual(self.printed.getvalue(), f'waiting: {busy}\n')
