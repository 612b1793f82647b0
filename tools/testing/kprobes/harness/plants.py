# SPDX-License-Identifier: GPL-2.0
"""Uses of freed memory that are planted in kernels with KASAN.

The guest's job does one after the other and says between which lines. KASAN
must report each, once, in the function of the crate that it was planted in,
and nothing else.
"""

import re

import qemu
from ktap import Result, verdict

# The guest's name for each, and the end of the function's name.
PLANTS = {
    'table_array': '3sys5table5plant5array',
    'table_node': '3sys5table5plant4node',
    'slot_owner': '3sys5slots5plant5owner',
    'probe': '4life4site5plant5probe',
}
# More than one report in a boot is to be seen, and no suites are to be run.
CMDLINE = 'kasan_multi_shot kunit.enable=0'
_BEGIN = re.compile(r'mark: plant (\w+)$')
_END = 'mark: planted'


def _problem(name: str, reports: list[str] | None) -> str:
    """The fault in the reports about a plant, or ''."""
    if reports is None:
        return 'it was not tried'
    if not reports:
        return 'KASAN has reported nothing'
    wanted = re.match(r'BUG: KASAN: slab-use-after-free in '
                      rf'\S*12rust_kprobes{PLANTS[name]}(\+0x\S+)?$',
                      reports[0])
    others = reports[1:] if wanted else reports
    return '; '.join(['expected one use after free in our function, found',
                      *others[:5]]) if others else ''


def judge(lines: list[str], prefix: str) -> list[Result]:
    """The results of a boot that has said LINES."""
    strangers: list[str] = []
    reports: dict[str, list[str]] = {}
    current = strangers
    for line in lines:
        if match := _BEGIN.search(line):
            current = reports.setdefault(match[1], [])
        elif _END in line:
            current = strangers
        elif qemu.is_splat(line):
            current.append(line.strip())
    strangers += [f'mark: plant {name}' for name in reports.keys() - PLANTS]
    problems = {name: _problem(name, reports.get(name)) for name in PLANTS}
    problems['nothing_else'] = '; '.join(strangers[:5])
    return [verdict(f'{prefix}.plants.{name}', why)
            for name, why in problems.items()]
