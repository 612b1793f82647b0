# SPDX-License-Identifier: GPL-2.0
"""The rows of the benchmark: their names in the guest and for the reader.

What differs by architecture is in a table of its own, ARCH in a file that is
called as the architecture: bench/x86_64.py. Another one adds such a file.
"""

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import env

# The figure of a row that stands for it.
MEDIAN, MEAN = 'median', 'mean'


@dataclass(frozen=True)
class Row:
    """One row of the table."""

    name: str
    title: str
    unit: str
    figure: str = MEDIAN
    traps: bool = False
    # The most that it may be of C's figure, and at all, if that is judged.
    most: float | None = None
    limit: int | None = None


Sections = dict[str, list[Row]]


@dataclass(frozen=True)
class Arch:
    """The part of the benchmark that one architecture has for itself."""

    # In QEMU's log of exceptions: a mark, whose group 1 is its number in
    # hexadecimal digits, and an exception that counts as a trap.
    mark: re.Pattern
    trap: re.Pattern
    insn: str   # what insncount.c counts between: bench_mark_instruction(), in C's bytes
    # Rows of one hit without jumps: (name, title).
    hits: tuple[tuple[str, str], ...]
    # How often registering or unregistering may disturb other CPUs.
    rounds: dict[str, int]
    # Minutes that all boots have been seen to take on two busy cores, by implementation.
    minutes: dict[str, float]
    # What other CPUs have to do, and how many probes are many for that.
    rounds_title: str = 'Interrupting all other CPUs (function call interrupts)'
    many: int = 100
    most: tuple[float, float] = (0.86, 0.05)    # of C's figure: without a trap; 10,000 jumps
    lacks: str = '^$'   # rows that its kernel has not enough functions for, or no ftrace
    c_lacks: str = '^$'     # rows that C has nothing for
    cmdline: str = ''   # for the kernel, so that nothing disturbs
    dearer: str = ''    # if set: the rows that may be above C's, others may not


def of_arch(arch: str) -> Arch:
    """The table of ARCH."""
    try:
        return importlib.import_module(f'bench.{arch}').ARCH
    except ModuleNotFoundError as error:
        raise env.Refusal(
            f'ARCH= with a cost table, such as ARCH={env.ARCHES[0]}', f'ARCH={arch}',
            'leave ARCH out: the probed functions (bench/targets.S) are its '
            f'own; for others there is make test ARCH={arch}') from error


def hits(plain: str, jump: str, call: str, back: str, trap: str) -> tuple[tuple[str, str], ...]:
    """Rows of hits without jumps, by the names of the instructions."""
    return (
        ('bare_mov', f'bare call: {plain}'),
        ('bare_jmp', f'bare call: {jump}'),
        ('bare_call', f'bare call: {call}'),
        ('bare_ret', f'bare call: {back}'),
        ('bare_c', 'bare call: C function'),
        ('bare_sites', f'bare call: generated function (16 {plain})'),
        ('floor', f'{trap} (floor)'),
        ('notified', 'breakpoint of nobody, taken by a die notifier'),
        ('step', 'single-stepped, pre + post handler'),
        ('step_pre', 'single-stepped, pre handler'),
        ('step_post', 'single-stepped, post handler'),
        ('jmp', f'emulated {jump}'),
        ('jmp_post', f'emulated {jump}, pre + post handler'),
        ('call', f'emulated {call}'),
        ('ret', f'emulated {back}'),
        ('skip', 'pre handler returns 1'),
        ('step_2', '2 probes at one address, stepped'),
        ('step_4', '4 probes at one address, stepped'),
        ('reentered', 'handler hits another probe'),
        ('ftrace', 'ftrace-based'),
        ('ftrace_post', 'ftrace-based, pre + post handler'),
        ('ftrace_2', 'ftrace-based, 2 probes'),
        *returns('step', 'stepped'),
        ('return_jmp', f'return probe on emulated {jump}'),
        *returns('ftrace', 'ftrace-based'))


def returns(stem: str, title: str) -> tuple[tuple[str, str], ...]:
    """Rows of return probes on one kind of place, by who is told."""
    return ((f'return_{stem}', f'return probe on {title}'),
            (f'return_{stem}_entry',
             f'return probe on {title}, entry handler'),
            (f'return_{stem}_entry_only',
             f'return probe on {title}, entry handler alone'),
            (f'return_{stem}_data',
             f'return probe on {title}, entry handler, data'))


_OPTIMIZED = (
    ('optimized', 'jump-optimized'),
    ('optimized_2', 'jump-optimized, 2 probes'),
    ('optimized_4', 'jump-optimized, 4 probes'),
    *returns('optimized', 'jump-optimized'))
STAGES = (0, 1000, 10000, 30000)
_SCALE = (
    ('first', 'stepped, registered first'),
    ('last', 'stepped, registered last'),
    ('jmp_first', 'emulated jmp, registered first'),
    ('ftrace_first', 'ftrace-based, registered first'),
    ('return_last', 'return probe on stepped, registered last'),
    ('optimized_first', 'jump-optimized, registered first'),
)
# Places where probes are registered: {name: (title, how many at a time)}.
_PLACES = {
    'module': ('module text, armed', (1, 1000, 10000)),
    'vmlinux_disabled': ('vmlinux, disabled', (1, 1000, 10000)),
    'vmlinux_deep': ('vmlinux, far inside functions, disabled', (1, 1000)),
    # Ten thousand armed functions are hit by registering itself, through C's
    # long chains: 160 thousand million instructions, over ten minutes.
    'vmlinux': ('vmlinux, armed', (1, 1000))}
_JUMPS = (1, 1000, 10000)
_JUMP_VERBS = (
    ('register_optimized_{}', 'register {:,} until all are jumps'),
    ('unregister_optimized_{}_batch',
     'unregister {:,} in one batch until text is back'))


def _registered(least: int = 1) -> Iterator[tuple[str, str]]:
    """(name, title) for each place, number of probes, alone and in a batch."""
    for place, (where, counts) in _PLACES.items():
        for count in counts:
            name, title = f'{place}_{count}', f'{where}, {count:,}'
            if count >= least:
                yield name, title
            if count >= max(least, 2):
                yield f'{name}_batch', f'{title} in one batch'


def _lifecycle(verb: str, least: int = 1) -> list[Row]:
    return [Row(f'{verb}_{name}', title, 'insns', MEAN) for name, title in _registered(least)]


def _latencies() -> Iterator[Row]:
    for name, title in _registered():
        each = '' if name.endswith('_batch') else ', each'
        yield Row(f'unregister_{name}_latency', f'unregister, {title}{each}', 'ns')
    for count in _JUMPS:
        for name, title in _JUMP_VERBS:
            yield Row(f'{name.format(count)}_latency', title.format(count), 'ns')


def sections(arch: Arch) -> Sections:
    """All rows by the titles of their sections; of one hit the first."""
    every = {
        'One hit (instructions; traps per hit)': [
            Row(name, title, 'insns', traps=True, most=arch.most[0] if name.startswith(
                ('return_', 'optimized')) else None)
            for name, title in arch.hits + _OPTIMIZED],
        'One hit while N other probes are registered (instructions)': [
            Row(f'{name}_n{others}', f'{title}, {others:,} others', 'insns',
                MEAN if name in ('first', 'last') else MEDIAN)
            for name, title in _SCALE for others in STAGES],
        'Registering (instructions per probe)': _lifecycle('register'),
        'Unregistering (instructions per probe)': _lifecycle('unregister'),
        'Left for later by unregistering (instructions per probe)':
            _lifecycle('later', least=1000),
        'Jump optimization (instructions per probe)': [
            Row(name.format(count), title.format(count), 'insns', MEAN,
                most={'register_optimized_10000': arch.most[1]}.get(name.format(count)))
            for count in _JUMPS for name, title in _JUMP_VERBS],
        'Waiting (virtual nanoseconds, elapsed)': list(_latencies()),
        arch.rounds_title: [
            Row(f'syncs_{verb}_{kind}{count}', f'{verb} {count}{title}',
                'syncs', limit=arch.rounds.get(f'{verb}_{kind}{count}'))
            for kind, title in (('', ', breakpoint'), ('optimized_', ', to or from jump'))
            for count in (1, arch.many) for verb in ('register', 'unregister')],
        'Memory (bytes)': [
            Row('memory_probe', 'per probe', 'bytes', MEAN),
            Row('memory_return_probe', 'per return probe', 'bytes', MEAN),
            Row('memory_struct_kprobe', "struct kprobe (the client's)",
                'bytes'),
            Row('memory_struct_kretprobe', "struct kretprobe (the client's)",
                'bytes')],
    }
    return {title: kept for title, rows in every.items() if (kept := [
        replace(row, most=row.most or 1.0)
        if arch.dearer and not re.search(arch.dearer, row.name) else row
        for row in rows if not re.search(arch.lacks, row.name)])}


def of_one_hit(every: Sections) -> Sections:
    """The section of one hit alone."""
    return dict([next(iter(every.items()))])


# The sets of rows that the module runs, with optimization on or off, and the
# boot each belongs to.
BOOTS = {
    'hits': (('hits', 0), ('optimized', 1)),
    'traps': (('hits-traps', 0), ('optimized-traps', 1)),
    'scale': (('scale', 1),),
    'lifecycle': (('memory', 0), ('module', 0), ('vmlinux', 0),
                  ('deep', 0), ('optimizer', 1)),
    'syncs': (('syncs', 1),),
}
QUICK = ('hits', 'traps')
# Two boots run at a time, one of each lane.
LANES = ('hits', 'lifecycle'), ('traps', 'scale', 'syncs')
