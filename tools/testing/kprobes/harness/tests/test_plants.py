# SPDX-License-Identifier: GPL-2.0
"""Planted uses of freed memory: each one report, of ours, and no other."""

from collections.abc import Callable

import plants
from tests import support

_REPORT = 'BUG: KASAN: slab-use-after-free in {}+0x1a/0x2b'


def _of(name: str) -> str:
    return _REPORT.format('_RNvNtCsz_12rust_kprobes' + plants.PLANTS[name])


class Plants(support.Case):
    def failed(self, change: Callable = lambda said: None,
               more: tuple[str, ...] = ()) -> dict[str, str]:
        """{name: status} of what fails after CHANGE to what is said."""
        said = {name: [_of(name)] for name in plants.PLANTS}
        change(said)
        lines = list(more)
        for name, reports in said.items():
            lines += [f'mark: plant {name}', 'Read of size 8', *reports,
                      'mark: planted']
        return {one.name.rpartition('.')[2]: one.status
                for one in plants.judge(lines, 'x') if one.status != 'pass'}

    def test_each_is_reported(self) -> None:
        self.assertEqual(self.failed(), {})
        self.assertEqual(len(plants.judge([], 'x')), len(plants.PLANTS) + 1)

    def test_one_is_not_reported(self) -> None:
        self.assertEqual(self.failed(lambda said: said['probe'].clear()),
                         {'probe': 'fail'})

    def test_one_was_not_tried(self) -> None:
        self.assertEqual(self.failed(lambda said: said.pop('probe')),
                         {'probe': 'fail'})

    def test_one_is_reported_twice(self) -> None:
        self.assertEqual(self.failed(
            lambda said: said['probe'].append(_of('probe'))),
            {'probe': 'fail'})

    def test_another_function_or_kind(self) -> None:
        for report in (_of('table_node'), _REPORT.format('get_kprobe'),
                       _of('probe').replace('use-after-free', 'oob')):
            self.assertEqual(self.failed(
                lambda said, report=report: said.update(probe=[report])),
                {'probe': 'fail'})

    def test_something_else_is_reported(self) -> None:
        for line in ('WARNING: x', _of('probe')):
            self.assertEqual(self.failed(more=(line,)),
                             {'nothing_else': 'fail'})

    def test_one_that_nobody_knows(self) -> None:
        self.assertEqual(self.failed(lambda said: said.update(new=[])),
                         {'nothing_else': 'fail'})
