# SPDX-License-Identifier: GPL-2.0
"""make coverage ARCH= not the first: which instructions can be probed, and be jumps.

No host test has C's rules there, so the kernels are asked. Instructions are
drawn by chance from the functions that are the same in both kernels. Each gets
a probe in our kernel, which gives reasons, and then in C's. Two kinds of C's
probes are not armed, as a hit would end the guest: those that we refuse for a
reason in UNSAFE, and those in functions that C calls, or locks that it takes,
before it looks for the probe of a hit (c_calls of the architecture's record).
"""

import random
import re
from bisect import bisect_right
from collections import Counter
from dataclasses import replace
from itertools import accumulate, pairwise

import coverage
import env
import kernel
import procs
import progress
from coverage import Heard, Place
from kernel import Built
from ktap import Result, verdict

# How reasons begin why C must have no probe there, or no jump.
UNSAFE = coverage.DEADLY + (
    'a hit inside a transaction or exclusive access aborts it',
    'an instruction is expected to fault',
    'the kernel changes the text (a jump label, a static call), or traps there',
    'the instruction works at its own address only')
NOT_ARMED = 'breakpoint: not armed'
# The address behind a reason.
_ADDRESS = re.compile(r': \S+\+0x\w+/0x\w+( \[\w+\])?$')

# {(name, how many have it before): (address, offsets of instructions)}
Functions = dict[tuple[str, int], tuple[int, list[int]]]


def functions(symbols: str, text: bytes, base: int, lengths: tuple[int, ...]) -> Functions:
    """The functions of nm's SYMBOLS in the TEXT at BASE, by LENGTHS of instructions."""
    rows = [(int(at, 16) - base, int(size, 16), kind, name) for at, size, kind, name in (
        line.split() for line in symbols.splitlines() if line.count(' ') == 3)]
    # On arm, $d is before data and $a before code.
    marks = [(at, name[1]) for at, _, _, name in rows if name.startswith('$')]
    data = {byte for (at, kind), (end, _) in pairwise(marks) if kind == 'd'
            for byte in range(at, end)}
    functions_of: Functions = {}
    names: Counter[str] = Counter()
    at = 0
    for start, size, kind, name in rows:
        if kind in 'tTwW' and size and at <= start < len(text):
            at, offsets = start, []
            while at < start + size:
                if at not in data:
                    offsets.append(at - start)
                at += lengths[text[at] >> 6]
            functions_of[name, names[name]] = base + start, offsets
            names[name] += 1
    return functions_of


def _functions(built: Built) -> Functions:
    vmlinux, copy = built.obj / 'vmlinux', built.obj / 'coverage.text'
    procs.output(['llvm-objcopy', '-O', 'binary', '--only-section=.text', vmlinux, copy])
    return functions(
        procs.output(['llvm-nm', '-n', '--print-size', '--special-syms', vmlinux]),
        copy.read_bytes(), coverage.symbol(built, '_stext'),
        built.machine.lengths)


def draw(ours: Functions, theirs: Functions, seed: int) -> tuple[list[Place], int]:
    """(places by chance, the number of those that both kernels have)."""
    both = [(key[0], *ours[key], theirs[key][0]) for key in ours
            if key in theirs and ours[key][1] == theirs[key][1]]
    ends = list(accumulate(len(offsets) for _, _, offsets, _ in both))
    places = []
    for number in random.Random(seed).sample(range(ends[-1]), min(2 * coverage.DRAWN, ends[-1])):
        index = bisect_right(ends, number)
        name, at, offsets, at_c = both[index]
        offset = offsets[number - ends[index]]
        places.append(Place(at + offset, f'{name}+{offset:#x}', at_c=at_c + offset))
    return coverage.draw(places, 'rust', seed)[0], ends[-1]


def is_unsafe(place: Place) -> bool:
    """Must C have no probe there, or no jump?"""
    return place.rust.partition(': ')[2].startswith(UNSAFE)


def fate(place: Place, heard: Heard) -> str:
    """What became of PLACE."""
    kind, _, why = heard.answers.get(place.at, ('nothing', None, ''))
    state, _, error = kind.partition(' ')
    why = _ADDRESS.sub('', why) or error
    return NOT_ARMED if kind == 'untouched' else f'{state}: {why}' if why else state


def count(places: list[Place], where: str) -> list[Result]:
    """The Results of comparing what became of PLACES; the counts are printed."""
    lines = [f'{number:8,} Rust: {rust} | C: {c}' + ' (unsafe)' * unsafe
             for (rust, c, unsafe), number in Counter(
                 (place.rust, place.c, is_unsafe(place)) for place in places).most_common()]
    safe = [place for place in places if not is_unsafe(place) and place.c != NOT_ARMED]
    outcomes = []
    for name, states in (('probed', ('jump', 'ftrace', 'breakpoint')), ('jumps', ('jump',))):
        ours, theirs, *shares = (
            sum(place.fate(impl).partition(':')[0] in states for place in of) / len(of)
            for of in (safe, places) for impl in env.IMPLS)
        lines.append('{}: {:.2%} with Rust, {:.2%} with C; of {:,} that are safe with C {:.2%}, '
                     '{:.2%}'.format(name, *shares, len(safe), ours, theirs))
        outcomes.append(verdict(f'{where}.{name}', '' if ours >= theirs else lines[-1]))
    progress.say('\n'.join(lines))
    return coverage.counted(outcomes, lines, where)


def run(arch: str, seed: int) -> list[Result]:
    """Register with both implementations, and compare; the Results."""
    ours, theirs = (kernel.build(arch, impl) for impl in env.IMPLS)
    every = _functions(ours)
    places, number = draw(every, _functions(theirs), seed)
    progress.say(f'{arch}: {sum(len(offsets) for _, offsets in every.values()):,} instructions, '
                 f'{number:,} in functions of both kernels, {len(places):,} drawn')
    heard, outcomes = coverage.registered(ours, places)
    places = [replace(place, at=place.at_c, rust=fate(place, heard)) for place in places]
    heard, ends = coverage.registered(theirs, places, {
        place for place in places
        if is_unsafe(place) or re.match(theirs.machine.c_calls, place.symbol)})
    places = [replace(place, c=fate(place, heard)) for place in places]
    died = any(outcome.name.endswith('.boot') for outcome in outcomes + ends)
    return outcomes + ends + ([] if died else count(places, f'{arch}.rust.coverage'))
