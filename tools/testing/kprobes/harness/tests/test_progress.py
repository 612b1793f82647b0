# SPDX-License-Identifier: GPL-2.0
"""Times: what is kept of them, estimated from them, and said at the end."""

import json
import threading
import time
from unittest import mock

import progress
from tests import support


class Kept(support.Case):
    def test_remembered(self) -> None:
        self.assertIsNone(progress.recall('x'))
        progress.remember('x', 3)
        progress.remember('y', 4)
        self.assertEqual((progress.recall('x'), progress.recall('y')), (3, 4))
        self.write('cache/times.json', '{broken')
        self.assertEqual(progress.recall('x', 'none'), 'none')

    def test_of_several_writers_none_is_lost(self) -> None:
        def slow_load(place, real=progress._load):
            state = real(place)
            time.sleep(0.002)
            return state

        def learn(number):
            for n in range(5):
                progress.remember(f'{number}.{n}', n)
        self.enterContext(mock.patch.object(progress, '_load', slow_load))
        threads = [threading.Thread(target=learn, args=(n,))
                   for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(json.loads(progress._STATE.read_text())), 20)


class Summary(support.Case):
    """Planned and actual minutes at the end of a run."""

    def setUp(self) -> None:
        super().setUp()
        for name, empty in (('_done', []), ('_groups', {}), ('_limits', [])):
            self.enterContext(mock.patch.object(progress, name, empty))

    def table(self, *stages, **seconds_of_roots) -> dict[str, list[str]]:
        """The table of STAGES, as {name: the rest of the line}."""
        with mock.patch.dict('os.environ', {
                f'KP_{name}_SECONDS': seconds
                for name, seconds in seconds_of_roots.items()}):
            progress.handed_over()
        for stage in stages:
            progress._count(*stage)
        progress.summary()
        return {line[:36].rstrip(): line[36:].split(maxsplit=2)
                for line in self.printed.getvalue().splitlines() if line}

    def test_roots_count_and_that_of_the_toolchain_is_set_up(self) -> None:
        self.assertEqual(
            self.table(('kernel x', 12, 600), ROOT='121', DOCS='30',
                       CLIENTS='30'),
            {'stage': ['planned', 'actual', '(minutes)'],
             'toolchain root': ['2.0', '2.0', 'OVER BUDGET'],
             'docs root': ['1.5', '0.5'], 'clients root': ['1.0', '0.5'],
             'kernel x': ['12.0', '10.0'], 'set-up, of these': ['5.0', '2.0'],
             'all, one after another': ['16.5', '13.0']})

    def test_a_group_has_a_budget(self) -> None:
        with progress.group('host', 5):
            progress._count('check', 3, 150)
            progress._count('tests', 3, 151)
            progress._count('crates', 1, 30)
        with progress.group('x86_64', 12):
            progress._count('kernel', 12, 600)
        table = self.table(('other', 1, 60))
        self.assertEqual(table['host, of these'],
                         ['5.0', '5.0', 'OVER BUDGET'])
        self.assertEqual(table['x86_64, of these'], ['12.0', '10.0'])
        self.assertEqual(table['set-up, of these'], ['5.0', '0.5'])


class Estimate(support.Case):
    """How long it is still going to take."""

    def line(self, count: int, elapsed: float, expected: int | None = None,
             before: float | None = None, **options) -> str:
        """What a stage says after COUNT units and ELAPSED seconds."""
        if before:
            progress.remember('stage x', before, progress.durations())
        stage = progress.Stage('x', 1, **options)
        stage.expected, stage.shown = expected, 0
        stage.start = time.monotonic() - elapsed
        self.printed.seek(0)
        self.printed.truncate()
        stage.tick(count=count)
        return self.printed.getvalue().strip()

    def test_by_the_rate_or_the_last_time(self) -> None:
        for line, text in (
                (self.line(250, 60, 1000, before=20),
                 '[x] 250/1000 1:00 min, about 3:00 min left'),
                (self.line(14, 20, 1005, before=32), '[x] 14/1005 20 s'),
                (self.line(9, 20, before=50.5),
                 '[x] 9 20 s, about 30 s left'),
                (self.line(9, 60, before=50), '[x] 9 1:00 min'),
                (self.line(9, 20, before=50, varies=True), '[x] 9 20 s')):
            self.assertEqual(line, text)
