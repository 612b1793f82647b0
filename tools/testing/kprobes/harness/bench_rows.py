# SPDX-License-Identifier: GPL-2.0
"""The rows of the benchmark: their names in the guest and for the reader."""

from dataclasses import dataclass

# Which figure of a row stands for it.
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


def _returns(way, title):
    """Return probes on places that are hit in one WAY, by who is told."""
    stem, title = f'return_{way}', f'return probe on {title}'
    return ((stem, title),
            (f'{stem}_entry', f'{title}, entry handler'),
            (f'{stem}_entry_only', f'{title}, entry handler alone'),
            (f'{stem}_data', f'{title}, entry handler, data'))


_HITS = (
    ('bare_mov', 'bare call: mov'),
    ('bare_jmp', 'bare call: jmp'),
    ('bare_call', 'bare call: call'),
    ('bare_ret', 'bare call: ret'),
    ('bare_c', 'bare call: C function'),
    ('bare_sites', 'bare call: generated function (16 mov)'),
    ('floor', 'empty trap and return (floor)'),
    ('notified', 'breakpoint of nobody, taken by a die notifier'),
    ('step', 'single-stepped, pre + post handler'),
    ('step_pre', 'single-stepped, pre handler'),
    ('step_post', 'single-stepped, post handler'),
    ('jmp', 'emulated jmp'),
    ('jmp_post', 'emulated jmp, pre + post handler'),
    ('call', 'emulated call'),
    ('ret', 'emulated ret'),
    ('skip', 'pre handler returns 1'),
    ('step_2', '2 probes at one address, stepped'),
    ('step_4', '4 probes at one address, stepped'),
    ('reentered', 'handler hits another probe'),
    ('ftrace', 'ftrace-based'),
    ('ftrace_post', 'ftrace-based, pre + post handler'),
    ('ftrace_2', 'ftrace-based, 2 probes'),
    *_returns('step', 'stepped'),
    ('return_jmp', 'return probe on emulated jmp'),
    *_returns('ftrace', 'ftrace-based'),
)
_OPTIMIZED = (
    ('optimized', 'jump-optimized'),
    ('optimized_2', 'jump-optimized, 2 probes'),
    ('optimized_4', 'jump-optimized, 4 probes'),
    *_returns('optimized', 'jump-optimized'),
)
STAGES = (0, 1000, 10000, 30000)
_SCALE = (
    ('first', 'stepped, registered first'),
    ('last', 'stepped, registered last'),
    ('jmp_first', 'emulated jmp, registered first'),
    ('ftrace_first', 'ftrace-based, registered first'),
    ('return_last', 'return probe on stepped, registered last'),
    ('optimized_first', 'jump-optimized, registered first'),
)
_PLACES = {
    'module': ('module text, armed', (1, 1000, 10000)),
    'vmlinux_disabled': ('vmlinux, disabled', (1, 1000, 10000)),
    'vmlinux_deep': ('vmlinux, far inside functions, disabled', (1, 1000)),
    # Ten thousand armed functions are hit by registering itself, through C's
    # long chains: 160 thousand million instructions, over ten minutes.
    'vmlinux': ('vmlinux, armed', (1, 1000)),
}

_JUMPS = (1, 1000, 10000)


def _hits():
    return [Row(name, title, 'insns', traps=True,
                most=0.85 if name.startswith(('return_', 'optimized'))
                else None)
            for name, title in _HITS + _OPTIMIZED]


def _scale():
    return [Row(f'{name}_n{others}', f'{title}, {others:,} others', 'insns',
                MEAN if name in ('first', 'last') else MEDIAN)
            for name, title in _SCALE for others in STAGES]


def _lifecycle(verb, least=1):
    for place, (where, counts) in _PLACES.items():
        for count in counts:
            if count < least:
                continue
            stem, title = f'{verb}_{place}_{count}', f'{where}, {count:,}'
            yield Row(stem, title, 'insns', MEAN)
            if count > 1:
                yield Row(f'{stem}_batch', f'{title} in one batch', 'insns',
                          MEAN)


def _latencies():
    for place, (where, counts) in _PLACES.items():
        for count in counts:
            stem, title = f'unregister_{place}_{count}', f'{where}, {count:,}'
            yield Row(f'{stem}_latency', f'unregister, {title}, each', 'ns')
            if count > 1:
                yield Row(f'{stem}_batch_latency',
                          f'unregister, {title} in one batch', 'ns')
    for count in _JUMPS:
        yield Row(f'register_optimized_{count}_latency',
                  f'register {count:,} until all are jumps', 'ns')
        yield Row(f'unregister_optimized_{count}_batch_latency',
                  f'unregister {count:,} in one batch until text is back',
                  'ns')


def _optimizer():
    for count in _JUMPS:
        yield Row(f'register_optimized_{count}',
                  f'register {count:,} until all are jumps', 'insns', MEAN,
                  most=0.05 if count == 10000 else None)
        yield Row(f'unregister_optimized_{count}_batch',
                  f'unregister {count:,} in one batch until text is back',
                  'insns', MEAN)


# All breakpoints of a batch come in one round and go in two; jumps come in
# three more for each 256, and go in two for all before the breakpoints do.
_ROUNDS = {'register_optimized_100': 4, 'unregister_optimized_100': 4,
           'register_100': 1, 'unregister_100': 2}
_SYNCS = [
    Row(f'syncs_{verb}_{how}{count}', f'{verb} {count}{title}', 'syncs',
        limit=_ROUNDS.get(f'{verb}_{how}{count}'))
    for how, title in (('', ', breakpoint'), ('optimized_', ', to or from jump'))
    for count in (1, 100) for verb in ('register', 'unregister')]
_MEMORY = [
    Row('memory_probe', 'per probe', 'bytes', MEAN),
    Row('memory_return_probe', 'per return probe', 'bytes', MEAN),
    Row('memory_struct_kprobe', "struct kprobe (the client's)", 'bytes'),
    Row('memory_struct_kretprobe', "struct kretprobe (the client's)",
        'bytes'),
]

HITS = _hits()
SECTIONS = {
    'One hit (instructions; traps per hit)': HITS,
    'One hit while N other probes are registered (instructions)': _scale(),
    'Registering (instructions per probe)': list(_lifecycle('register')),
    'Unregistering (instructions per probe)': list(_lifecycle('unregister')),
    'Left for later by unregistering (instructions per probe)':
        list(_lifecycle('later', least=1000)),
    'Jump optimization (instructions per probe)': list(_optimizer()),
    'Waiting (virtual nanoseconds, elapsed)': list(_latencies()),
    'Interrupting all other CPUs (function call interrupts)': _SYNCS,
    'Memory (bytes)': _MEMORY,
}
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
