# SPDX-License-Identifier: GPL-2.0
"""make coverage: which instructions of the kernel may become jumps.

For x86_64 (of others see coverage_drawn.py), each implementation's kernel is
booted, and what is in its memory copied. A host test
(host/src/ways/detours/booted.rs) says of each instruction in it what becomes of
a probe there, with us and with C. Then the kernel is booted once more, and
probes are registered on addresses that chance has chosen: what becomes of them
must be what was said.
"""

import os
import random
import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

import env
import guest
import guests
import host
import kernel
import progress
import qemu
import results
import variables
from kernel import Built
from ktap import Result, logged, verdict, write_log

# How many addresses are registered.
DRAWN = 5000
# As many as C at least, times this.
RATIO = 1.6
# No two of them are nearer to each other: a jump is over 19 bytes at most.
APART = 32
# Probes of a round: 12 % of them may be refused, and the last 32 of those are kept.
ROUND = 100
# The address of the kernel in memory, without KASLR.
_BASE = 0xffffffff80000000

# How reasons begin why C must not put a jump there: its middle would be run, or
# read; the wait would be for the next interrupt; the breakpoint's second trap
# would be without the CPU's data.
UNSOUND = (
    'a branch leads into the bytes of the jump',
    'a branch of another function leads into the bytes of the jump',
    'a jump label leads into the bytes of the jump, or may',
    'another part of the split function has an indirect jump',
    'an exception fixup leads into the bytes of the jump',
    'an instruction is a landing pad of indirect branches',
    'an instruction belongs to the CFI check of an indirect call',
    # On the place itself, that is: a jump may be over such instructions.
    'the next instruction waits for an interrupt',
    'the instruction moves the data of the CPU')
# Instructions that C has probes on though they break what they are in: with a
# breakpoint there the guest would not live.
DEADLY = (
    'the instruction waits for an interrupt',
    'the next instruction waits for an interrupt',
    'the instruction moves the data of the CPU',
    'the instruction changes where traps go',
    'the instruction returns from an interrupt',
    'the instruction enters or leaves a',
    'the instruction leads to another code segment',
    'the instruction holds back traps')


@dataclass(frozen=True)
class Place:
    """An instruction, and what was said of it."""

    at: int
    symbol: str
    rust: str = ''
    c: str = ''
    at_c: int = 0   # in C's kernel, where that is another one

    def fate(self, impl: str) -> str:
        """The words of the host test about a probe there with IMPL."""
        return self.rust if impl == 'rust' else self.c

    def __str__(self) -> str:
        return f'{self.at:x} {self.symbol}'


def _reason(fate: str) -> str:
    return fate.partition(': ')[2]


def is_deadly(place: Place) -> bool:
    """Would the guest not live with a probe of C's there?"""
    reason = _reason(place.rust)
    # Either C puts a jump there though somebody may come into it.
    return place.c == 'jump' and reason.startswith(UNSOUND) or (
        not place.c.startswith('refused: ')
        and place.rust.startswith('refused: ')
        and reason.startswith(DEADLY))


def draw(places: list[Place], impl: str, seed: int) -> tuple[list[Place], list[Place]]:
    """(those to register, those left out), by chance, in order."""
    chance = random.Random(seed)
    apart: list[Place] = []
    for place in sorted(chance.sample(places, min(2 * DRAWN, len(places))),
                        key=lambda place: place.at):
        if not apart or apart[-1].at + APART <= place.at:
            apart.append(place)
    chosen = sorted(chance.sample(apart, min(DRAWN, len(apart))), key=lambda place: place.at)
    left_out = [place for place in chosen if impl == 'c' and is_deadly(place)]
    excluded = frozenset(left_out)
    return [place for place in chosen if place not in excluded], left_out


def rounds(places: list[Place]) -> list[list[Place]]:
    """PLACES as lists, each of them from all over the kernel."""
    number = -(-len(places) // ROUND)
    return [places[first::number] for first in range(number)]


# The guest says of an address, in a round and after it, what is there.
_AT = re.compile(r'coverage: (at|after) ([0-9a-f]+) (-?\d+) (\w+)$')
# It shows the lines of debugfs: a symbol with its offset, and the reason.
_SHOWN = re.compile(r'coverage: (refused|stays) \S+?\+(0x[0-9a-f]+)/0x\w+'
                    r'(?: \[\w+\])?  (?:-?\d+  )?(.*)$')

# The state of a place with a probe, and the offset and reason in debugfs.
Answer = tuple[str, int | None, str]


class Heard:
    """The answers of the guest in its rounds."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.answers: dict[int, Answer] = {}
        self.troubles: list[str] = []
        self.unrestored: dict[int, str] = {}
        self.ended = False
        self._begin()
        for line in lines:
            if match := _AT.match(line):
                if match[1] == 'at':
                    self._round.append((int(match[2], 16), int(match[3]), match[4]))
                else:
                    self.unrestored[int(match[2], 16)] = match[4]
            elif match := _SHOWN.match(line):
                self._shown[match[1]].append((int(match[2], 16), match[3]))
            elif line.startswith('coverage: round '):
                self._end()
            elif line.startswith('coverage: trouble '):
                self.troubles.append(line)
            elif line == 'coverage: end':
                self._end()
                self.ended = True

    def _begin(self) -> None:
        self._round: list[tuple[int, int, str]] = []
        self._shown: dict[str, list[tuple[int, str]]] = {'refused': [], 'stays': []}

    def _end(self) -> None:
        """A round is over: give each place its reason."""
        refused = [at for at, error, _ in self._round if error]
        stays = sorted(at for at, error, now in self._round if not error and now == 'breakpoint')
        # The oldest first, of this round and of those before.
        why = dict(zip(refused[::-1], self._shown['refused'][::-1]))
        if len(stays) == len(self._shown['stays']):
            why |= dict(zip(stays, self._shown['stays']))
        for at, error, now in self._round:
            kind = f'refused {error}' if error else now
            self.answers[at] = kind, *why.get(at, (None, ''))
        self._begin()


def _agrees(place: Place, impl: str, answer: Answer) -> bool:
    """Is ANSWER what the host test said of PLACE?"""
    kind, offset, why = answer
    state, (expected, _, reason) = kind.split(' ')[0], place.fate(impl).partition(': ')
    if not expected:    # Nobody has said. Ours gives a reason why there is no jump.
        if state in ('breakpoint', 'refused'):
            return impl == 'c' or why != ''
        return state in ('jump', 'ftrace') or impl == 'c' and state == 'untouched'
    if state != expected:
        return False
    if impl == 'c' or expected in ('jump', 'ftrace'):
        return True
    return offset == int(place.symbol.rpartition('+')[2], 16) \
        and (why == reason or why.startswith(f'{reason}: '))


def disagreements(places: list[Place], impl: str, heard: Heard) -> list[str]:
    """The answers that differ from what the host test said: texts."""
    mismatches = list(heard.troubles)
    if not heard.ended:
        mismatches.append('the guest has not come to the end of its rounds')
    for place in places:
        answer = heard.answers.get(place.at)
        if answer is None:
            mismatches.append(f'{place}: it was not tried')
        elif not _agrees(place, impl, answer):
            kind, offset, why = answer
            mismatches.append(f'{place}: said was "{place.fate(impl)}", found '
                              f'"{kind}" {why or "without a reason"}')
    return mismatches


def symbol(built: Built, name: str) -> int:
    """The address for which the symbol NAME is linked."""
    symbols = (built.obj / 'System.map').read_text()
    return int(re.findall(rf'^(\w+) . {name}$', symbols, re.M)[0], 16)


def _memory(built: Built) -> Path:
    """The memory of BUILT once it has booted: a file."""
    path = env.WORK / 'coverage' / f'{built.name}.memory'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    start, end = (symbol(built, name) for name in ('_text', '__init_begin'))

    def heard(line: str) -> None:
        stage.tick(line)
        if line == 'coverage: still':
            for words in ('stop', f'pmemsave {start - _BASE:#x} '
                          f'{end - start:#x} "{path}"', 'cont'):
                qemu.tell_monitor(monitor, words)
    image = guest.initramfs(built, 'coverage-image', guests.job('coverage-image', built.impl))
    with tempfile.TemporaryDirectory() as folder, \
            progress.Stage(f'memory of {built.name}', 0.5) as stage:
        monitor = Path(folder) / 'monitor'
        qemu.boot(built, image, name='coverage-image', on_line=heard,
                  cmdline='kunit.enable=0',
                  extra=['-monitor', f'unix:{monitor},server=on,wait=off'])
    if not path.exists() or path.stat().st_size != end - start:
        raise env.Refusal(f'{end - start} bytes of the memory of '
                          f'{built.name}', 'QEMU has not written them',
                          'does this QEMU know pmemsave in its monitor?')
    return path


def _predicted(built: Built, memory: Path) -> list[Place]:
    """The host test's word on each instruction of BUILT."""
    out = memory.with_suffix('.txt')
    out.unlink(missing_ok=True)
    outcomes = host.booted([(built.obj / 'vmlinux', memory, out)])
    failed = [outcome.reason for outcome in outcomes if outcome.status != 'pass']
    if failed or not outcomes or not out.exists():
        raise env.Refusal('the host test to judge each instruction',
                          failed[0] if failed else 'it did not run',
                          f'see {env.host(env.LOGS / "coverage-rust.log")}')
    with out.open() as lines:
        rows = (line.rstrip('\n').split('\t') for line in lines)
        return [Place(int(at, 16), *rest) for at, *rest in rows]


def _register(built: Built, places: list[Place], disarmed: Collection[Place]) -> qemu.Console:
    """Register probes on PLACES in a guest; what it said, and splats."""
    module = kernel.ours(built, (env.KPROBES / 'coverage').relative_to(env.REPO))
    files = {}
    for number, places_of in enumerate(rounds(places)):
        path = built.obj / f'coverage-round{number:03}'
        path.write_text(''.join(f'{"-" * (place in disarmed)}{place.at:x}\n'
                                for place in places_of))
        files[f'/rounds/{number:03}'] = path
    job = f'STEXT={symbol(built, "_stext"):x}\n' + guests.job('coverage', built.impl)
    image = guest.initramfs(built, 'coverage', job, module, files)
    with progress.Stage(f'register on {built.name}', 1 if built.impl == 'rust' else 3) as stage:
        stage.expected = len(files)

        def heard(line: str) -> None:
            if line.startswith('coverage: round '):
                stage.tick(line)
        return qemu.boot(built, image, name='coverage', on_line=heard,
                         force='tcg', cmdline='kunit.enable=0', timeout=2700)


def counted(outcomes: list[Result], lines: list[str], where: str) -> list[Result]:
    """OUTCOMES, with a log that has LINES."""
    return logged(outcomes, write_log(where, '\n'.join([*lines, ''])))


def _count_results(name: str, places: list[Place], where: str) -> list[Result]:
    """The Results of counting; the counts are printed."""
    lines = [f'\n{name}: {len(places):,} instructions']
    for impl in env.IMPLS:
        counts = Counter(place.fate(impl) for place in places)
        lines += [f'{impl}:', *(f'{number:10,} {fate}'
                                for kind in ('jump', 'ftrace', 'breakpoint', 'refused')
                                for fate, number in counts.most_common()
                                if fate.partition(':')[0] == kind)]
    ours, theirs = (sum(place.fate(impl) == 'jump' for place in places) for impl in ('rust', 'c'))
    ratio = ours / theirs if theirs else 0
    summary = f'{ours:,} jumps are {ratio:.3f} times C\'s {theirs:,}'
    lines.append(f'{name}: of {len(places):,} {summary}')
    alone = [(_reason(place.rust) or place.rust, place) for place in places
             if place.c == 'jump' and place.rust != 'jump']
    for why, number in Counter(why for why, _ in alone).most_common():
        lines.append(f'{name}: {number:,} are C\'s alone: {why}: '
                     + ('C is wrong' if why.startswith(UNSOUND) else 'LOST'))
    progress.say('\n'.join(lines))
    losses = [f'{place}: {why}' for why, place in alone if not why.startswith(UNSOUND)]
    return counted([verdict(f'{where}.ratio', '' if ratio >= RATIO else
                            f'{summary}, and not {RATIO} times'),
                    verdict(f'{where}.nothing_lost', '; '.join(losses[:5]))],
                   [*lines, *losses], where)


def registered(built: Built, chosen: list[Place], disarmed: Collection[Place] = ()
               ) -> tuple[Heard, list[Result]]:
    """Register CHOSEN places, some not to be armed: (answers, Results)."""
    where = f'{built.arch}.{built.impl}.coverage'
    try:
        console = _register(built, chosen, disarmed)
    except qemu.Died as died:
        died.show()
        return Heard(()), [Result(f'{where}.boot', 'fail', died.found.split('\n')[0], died.log)]
    heard = Heard(console.lines)
    mismatches = disagreements(chosen, built.impl, heard)
    names = {place.at: str(place) for place in chosen}
    progress.say(f'{built.name}: {len(chosen):,} registered in {console.seconds:.0f} s, '
                 f'{len(disarmed)} of them not armed; {len(mismatches)} not as they must be')
    for text in mismatches[:40]:
        progress.say(f'  {text}')
    return heard, logged([
        verdict(f'{where}.registered',
                f'{len(mismatches)}: ' + '; '.join(mismatches[:3]) if mismatches else ''),
        verdict(f'{where}.restored', '; '.join([
            f'{names.get(at, f"{at:x}")}: unregistered, but the text is not '
            f'as before: {now}' for at, now in heard.unrestored.items()][:5])),
        verdict(f'{where}.no-splat', '; '.join(console.splats[:5]))],
        console.log)


def _run(arch: str, seed: int) -> list[Result]:
    """Count with the host test, and register; the Results."""
    outcomes = []
    for impl in env.IMPLS:
        built = kernel.build(arch, impl)
        where = f'{arch}.{impl}.coverage'
        places = _predicted(built, _memory(built))
        outcomes += _count_results(built.name, places, where)
        chosen, left_out = draw(places, impl, seed)
        progress.say(f'{built.name}: {len(left_out)} left out, with which it would not live')
        outcomes += registered(built, chosen)[1]
    return outcomes


def run(arch: str = '') -> list[Result]:
    """Count and register on ARCH, or that of the command line; the Results."""
    arch, seed = arch or variables.arch(), int(os.environ.get('SEED') or '1')
    if arch == env.SUPPORTED[0]:    # The host test has the rules of that one only.
        outcomes = _run(arch, seed)
    else:
        import coverage_drawn
        outcomes = coverage_drawn.run(arch, seed)
    return outcomes + results.vanished('coverage', outcomes, arch)
