# SPDX-License-Identifier: GPL-2.0
"""Uses of freed memory that are planted in kernels with KASAN.

The guest's job does one after the other and says between which lines. KASAN
must report each, once, in the function of the crate that it was planted in, and
nothing else.
"""

import re

import qemu
from ktap import Result

# What the guest calls it, and the end of the function's name.
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


def _report(function):
    return re.compile(r'BUG: KASAN: slab-use-after-free in '
                      rf'\S*12rust_kprobes{function}(\+0x\S+)?$')


def _wrong(name, said):
    """What is wrong with what was SAID of a plant; '' if nothing is."""
    if said is None:
        return 'it was not tried'
    if not said:
        return 'KASAN has reported nothing'
    others = said[1:] if _report(PLANTS[name]).match(said[0]) else said
    return '; '.join(['expected one use after free in our function, found',
                      *others[:5]]) if others else ''


def judge(lines, prefix):
    """The Results of a boot that has said LINES."""
    said, strangers, here = {}, [], None
    for line in lines:
        if match := _BEGIN.search(line):
            here = said.setdefault(match[1], [])
        elif _END in line:
            here = None
        elif qemu.is_splat(line):
            (strangers if here is None else here).append(line.strip())
    found = []
    for name in PLANTS:
        wrong = _wrong(name, said.get(name))
        found.append(Result(f'{prefix}.plants.{name}',
                            'fail' if wrong else 'pass', wrong))
    strangers += [f'mark: plant {name}' for name in said.keys() - PLANTS]
    found.append(Result(f'{prefix}.plants.nothing_else',
                        'fail' if strangers else 'pass',
                        '; '.join(strangers[:5])))
    return found
