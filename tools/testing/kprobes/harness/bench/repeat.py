# SPDX-License-Identifier: GPL-2.0
"""Does the benchmark repeat? A run against the one before it.

Only runs of the same bytes are compared: kernel, guest, instruction counter,
QEMU. Counts of instructions and bytes then have to agree to one per cent, or
a figure of the table means nothing. What ends when the scheduler and timers
let it, and what two freely running CPUs do, has a tolerance of its own.
"""

import hashlib
from pathlib import Path

import env
import procs
from bench.rows import Row
from progress import say

EXACT = 0.01
# By unit: how much a row may differ, as a part and as a number.
_TOLERANCE = {'insns': (EXACT, 0), 'bytes': (EXACT, 0), 'ns': (0.1, 0), 'syncs': (0.1, 1)}


def digest(paths: list[Path], emulator: str) -> str:
    """A digest of the bytes of PATHS and the version of EMULATOR."""
    whole = hashlib.sha256(procs.output([emulator, '--version']).encode())
    for path in paths:
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:16]


def compare(before: dict, after: dict, rows: list[Row]) -> list[str]:
    """The ROWS in which two results differ by more than they may."""
    errors = []
    judged = [(row.name, row.name, row.figure, _TOLERANCE[row.unit]) for row in rows]
    judged += [(row.name, f'{row.name} (traps)', 'traps', (EXACT, 0)) for row in rows if row.traps]
    for name, title, figure, (part, number) in judged:
        old, new = (result['rows'].get(name, {}).get(figure, 'no figure')
                    for result in (before, after))
        text = f'{title}: {old} before, {new} now'
        if 'no figure' in (old, new):
            errors += [text] if old != new else []
        elif abs(new - old) > max(part * abs(old), number):
            errors.append(f'{text} ({(new - old) / (old or 1):+.2%})')
    return errors


def check(result: dict, rows: list[Row], quick: bool) -> list[str]:
    """Compare RESULT with the one before, keep it; the errors."""
    impl = result['impl']
    path = env.CACHE / 'bench' / (
        f'{impl}-{result["arch"]}-{result["made_from"]}'
        + ('-quick' if quick else '') + '.json')
    before = env.read_json(path)
    if before is None:
        say(f'{impl}: no earlier run of this kernel to compare with; the next one will be')
    else:
        errors = compare(before, result, rows)
        say(f'{impl}: against the earlier run of this kernel {len(errors)} '
            f'rows differ by more than they may ({EXACT:.0%} for '
            'instructions and bytes)')
        if errors:
            return [f'{impl}: does not repeat: {text}; the earlier run: '
                    f'{env.host(path)}' for text in errors]
    # Only a run that repeats, or the first: one that went wrong must not
    # make the next one right.
    env.write_json(path, result)
    return []
