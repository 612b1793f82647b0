# SPDX-License-Identifier: GPL-2.0
"""Clients do what they must not: the kernel says the right words.

All of it is tried in one guest, one after the other (selftests/kprobes/crashes.sh);
where a task has to die, the guest goes on, until the last one. What kills a
kernel with kprobes in C alone is in c-crashes.rst.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import progress
import qemu
from kernel import Built
from ktap import Result, logged, verdict

WARNING = 'WARNING: '
_SITE = 'kprobes_unrecoverable_site'


@dataclass(frozen=True)
class Crash:
    """One thing that is tried, and what must be said of it, in this order.

    Words in braces are in the architecture's record; those around & come in any order.
    """

    test: str
    says: tuple[str, ...]
    # A complaint of the kernel that is wanted; all others fail.
    splat: str | None = None
    most: int = 1000    # how often it may come
    needs: tuple[str, ...] = ()     # options of the kernel
    of_arch: bool = False   # is it tried where a record's crash_tests names it only?
    of_c: bool = True   # does a kernel with kprobes in C go on after it?


# In the order in which they are tried.
CRASHES = (
    Crash('handler_that_may_sleep',
          ('sleeps: registered',
           'BUG: sleeping function called from invalid context',
           'sleeps: goes after '),
          'BUG: sleeping function called from invalid context',
          needs=('DEBUG_ATOMIC_SLEEP',)),
    # A handler that sleeps in a detour. Its probe is there when it comes back:
    # said once. Then it is not, and the task must not go back there. (A kernel of arm
    # that has died of a fault, as those below, does not warn of it.)
    Crash('handler_that_sleeps',
          ('sleeps: registered, a jump', 'BUG: scheduling while atomic',
           f'waits in a copy of a probed instruction & {WARNING}',
           'handler sleep_in_handler+0x', WARNING, 'sleeps: back with 6',
           'BUG: scheduling while atomic', 'sleeps: unregistered',
           'handler sleep_in_handler+0x', '{bug}', 'sleeps: goes'),
          f'BUG: scheduling while atomic|{WARNING}', most=4,
          needs=('RUST_KPROBES_CHECK_HANDLERS', 'OPTPROBES'), of_c=False),
    # A task that a fault in a probed instruction kills: the place is told, and
    # the CPU handles hits after it. C leaves the CPU in the step for good.
    # A notifier is given the registers that the CPU would go on with.
    *(Crash(test, tuple(
        line for how in hows
        for line in (f'no_fixup: {how}: registered', '{fault}',
                     f'{{at}}kprobes_no_fixup_{site}/',
                     f'no_fixup: {how}: 1 hits of 1, given the {given}',
                     f'no_fixup: {how}: 1 hits of 1 after')),
            needs=needs, of_c=False)
      for test, hows, site, given, needs in (
          ('H9_no_fixup', ('goes on', 'stepped'), 'site+{into}', 'original', ()),
          ('H9_no_fixup_in_a_jump', ('jumps',), 'jump_site+{jump_into}', '{given}',
           ('OPTPROBES',)))),
    # A state that panics while it is made: no probe is left, others go on.
    Crash('state_that_panics',
          ('panics: one is registered', 'a state that cannot be made',
           '{bug}', 'panics: nothing of it is registered',
           'panics: what was there stays', 'panics: another is registered',
           'panics: and goes')),
    # A handler that dies in a detour: its CPU handles hits after that.
    Crash('handler_that_dies',
          ('dies: registered, a jump', '{bug}', 'dies: unregistered: 1 hits of 1'),
          needs=('OPTPROBES',), of_c=False),
    # Two calls whose frames are wrong, then a task that comes to the trampoline
    # and is in no call. C's words; the warning is given once.
    Crash('K5_lost_way',
          (WARNING, 'lost_way: 1 back of 1, 0 told',
           'lost_way: 2 back of 2, 0 told', 'lost_way: goes',
           'rethook: rethook: Return address not found! '
           'Maybe there is a bug in the kernel', '{bug}'),
          WARNING, most=1),
    Crash('H11_nobodys_breakpoint',
          ('nobodys: goes', 'undefined instruction', '{at}kprobes_nobodys_breakpoint+0x0/'),
          of_arch=True, of_c=False),
    # Upstream's test of the unwinder, but for its cases 12 to 19: what an interrupt
    # finds ends well or not as it comes, with C, too. It allocates memory there.
    Crash('unwinder', tuple(f'  ok {case} UWM_' for case in (*range(1, 12), *range(20, 40))),
          'inconsistent lock state|sleeping function called', most=2, of_arch=True),
    # A hit without end. C's words. On s390x a trap's handler runs after the step.
    Crash('H4_U7_unrecoverable',
          ('Unrecoverable kprobe detected.', 'Dump kprobe:',
           f'.symbol_name = {_SITE}, .offset = 0, .addr = {_SITE}',
           '{bug}'), of_arch=True),
)
_MARK = re.compile(r'mark: crash (\w+)$')
# A module says so that has survived what it must not.
_SURVIVED = re.compile(r'^\w+: survived|it goes on, which it must not')


def _problem(crash: Crash, lines: list[str], oops: dict[str, str]) -> str:
    """The fault in the LINES of the guest about CRASH, or ''."""
    remaining = iter(lines)
    for words in crash.says:
        # Each is looked for behind the one before.
        missing = words.format(**oops).split(' & ')
        while missing and (line := next(remaining, None)) is not None:
            missing = [part for part in missing if part not in line]
        if missing:
            return f'not said where expected: {missing[0]}'
    splats = [line for line in lines if qemu.is_splat(line)]
    wanted = [line for line in splats if crash.splat and re.search(crash.splat, line)]
    if len(wanted) > crash.most:
        return f'said {len(wanted)} times: {crash.splat}'
    return '; '.join([line for line in splats if line not in wanted]
                     + list(filter(_SURVIVED.search, lines)))


def _name(built: Built, crash: Crash) -> str:
    return f'{built.arch}.{built.impl}.crash.{crash.test}'


def _unfit(built: Built, crash: Crash) -> str:
    """Why CRASH is not tried with BUILT, or ''."""
    if crash.of_arch and crash.test not in built.machine.crash_tests:
        return f'not for {built.arch}'
    return next((f'no CONFIG_{option}' for option in crash.needs if not built.has(option)), '')


def judge(lines: list[str], crashes: list[Crash], built: Built) -> list[Result]:
    """The results of BUILT's guest, which has tried CRASHES, and said LINES."""
    # Lines before the first one are judged with it.
    current: list[str] = []
    lines_of = {crashes[0].test: current}
    for line in lines:
        if match := _MARK.search(line):
            current = lines_of.setdefault(match[1], [])
        current.append(line)
    return [verdict(_name(built, crash),
                    _problem(crash, lines_of.get(crash.test, []),
                             built.machine.oops)) for crash in crashes]


def tests(built: Built, image: Callable[[str], Path]) -> list[Result]:
    """Boot BUILT, and try all; IMAGE makes the initramfs for those named."""
    of_impl = [crash for crash in CRASHES if built.impl == 'rust' or crash.of_c]
    crashes = [crash for crash in of_impl if not _unfit(built, crash)]
    died = None
    with progress.Stage(f'boot {built.name} crashes', 2) as stage:
        try:
            console = qemu.boot(
                built, image(' '.join(crash.test for crash in crashes)),
                name='crashes', timeout=300, cmdline='kunit.filter_glob=test_unwind',
                on_line=stage.tick)
            lines, log = console.lines, str(console.log)
        except qemu.Died as error:
            died, lines, log = error, error.lines, error.log
    results = logged(judge(lines, crashes, built), log)
    if died and any(result.status == 'fail' for result in results):
        died.show()
    return results + [Result(_name(built, crash), 'skip', _unfit(built, crash))
                      for crash in of_impl if crash not in crashes]
