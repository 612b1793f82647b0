# SPDX-License-Identifier: GPL-2.0
"""Planted uses of freed memory: each one report, of ours, and no other."""

import plants
from tests import support

_REPORT = 'BUG: KASAN: slab-use-after-free in {}+0x1a/0x2b'
_REPORTS = {name: [_REPORT.format('_RNvNtCsz_12rust_kprobes' + function)]
            for name, function in plants.PLANTS.items()}
_PROBE, = _REPORTS['probe']


class Plants(support.Case):
    def failed(self, reports: dict[str, list[str]],
               before: tuple[str, ...] = ()) -> list[str]:
        """What fails where these REPORTS came, by the plant's name."""
        lines = list(before)
        for name, said in reports.items():
            lines += [f'mark: plant {name}', 'Read of size 8', *said,
                      'mark: planted']
        return [one.name.rpartition('.')[2]
                for one in plants.judge(lines, 'x') if one.status != 'pass']

    def test_one_report_of_each(self) -> None:
        self.assertEqual(self.failed(_REPORTS), [])
        self.assertEqual(len(plants.judge([], 'x')), len(plants.PLANTS) + 1)
        untried = {name: said for name, said in _REPORTS.items()
                   if name != 'probe'}
        self.assertEqual(self.failed(untried), ['probe'])
        for said in ([], [_PROBE] * 2, _REPORTS['table_node'],
                     [_REPORT.format('get_kprobe')],
                     [_PROBE.replace('use-after-free', 'oob')]):
            with self.subTest(said):
                self.assertEqual(self.failed({**_REPORTS, 'probe': said}),
                                 ['probe'])
        # Nothing else is reported.
        for reports, before in ((_REPORTS, ('WARNING: x',)),
                                ({**_REPORTS, 'new': []}, ())):
            self.assertEqual(self.failed(reports, before), ['nothing_else'])
