# SPDX-License-Identifier: GPL-2.0
"""Does the benchmark repeat? A run against the one before it.

Only runs of the same bytes are compared: kernel, guest, instruction counter,
QEMU. Counts of instructions and bytes then have to agree to one per cent, or
a figure of the table means nothing. What ends when the scheduler and timers
let it, and what two freely running CPUs do, has a tolerance of its own: a
difference above one per cent is told, one above the tolerance is an error.
"""

import hashlib
import json

import env
import procs

EXACT = 0.01
# By unit: how much a row may differ, as a part and as a number.
_TOLERANCE = {'insns': (EXACT, 0), 'bytes': (EXACT, 0), 'ns': (0.1, 0),
              'syncs': (0.1, 1)}


def digest(paths, emulator):
    """What a run depends on: the bytes of PATHS, the version of EMULATOR."""
    found = hashlib.sha256(procs.output([emulator, '--version']).encode())
    for path in paths:
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]


def _kept(result, quick):
    return env.CACHE / 'bench' / (
        f'{result["impl"]}-{result["arch"]}-{result["made_from"]}'
        + ('-quick' if quick else '') + '.json')


def _figures(row, result):
    got = result['rows'].get(row.name, {})
    yield '', got.get(row.figure), _TOLERANCE[row.unit]
    if row.traps:
        yield ' (traps)', got.get('traps'), (EXACT, 0)


def compare(before, now, rows):
    """(errors, notes): texts for the ROWS that differ between two results."""
    errors, notes = [], []
    for row in rows:
        for (what, a, (part, number)), (_, b, _) in zip(
                _figures(row, before), _figures(row, now)):
            if a == b:
                continue
            text = f'{row.name}{what}: {a} before, {b} now'
            if a is None or b is None:
                errors.append(text.replace('None', 'no figure'))
                continue
            found = abs(b - a) / a if a else float('inf')
            text += f' ({found:+.2%})' if b > a else f' ({-found:+.2%})'
            if found > part and abs(b - a) > number:
                errors.append(text)
            elif found > EXACT:
                notes.append(text + ', within its tolerance')
    return errors, notes


def check(result, rows, quick, say):
    """Compare RESULT with the one before, keep it; the errors."""
    path = _kept(result, quick)
    try:
        before = json.loads(path.read_text())
    except (OSError, ValueError):
        before = None
    errors = []
    if before is None:
        say(f'{result["impl"]}: no earlier run of this kernel to compare '
            'with; the next one will be')
    else:
        errors, notes = compare(before, result, rows)
        for text in notes:
            say(f'{result["impl"]}: {text}')
        say(f'{result["impl"]}: against the earlier run of this kernel '
            f'{len(errors)} rows differ by more than they may '
            f'({EXACT:.0%} for instructions and bytes)')
    if errors:
        return [f'{result["impl"]}: does not repeat: {text}; the earlier run: '
                f'{env.host(path)}' for text in errors]
    # Only a run that repeats, or the first: one that went wrong must not
    # make the next one right.
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix('.part')
    part.write_text(json.dumps(result, indent=1))
    part.replace(path)
    return []
