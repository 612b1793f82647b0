#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Counts the unsafe blocks of the Rust kprobes and compares them with a budget.

    check-unsafe.py [--update] [ROOT]

Each file has exactly as many unsafe blocks, outside its tests, as the budget
file beside this script says; --update writes the file anew. No block is longer
than five lines, each has a SAFETY comment before it (in tests too), and there
is at most one outside tests in 60 lines of the crate.
"""
import argparse
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
BUDGET = HERE / 'unsafe-budget'
HEAD = """\
# SPDX-License-Identifier: GPL-2.0
# Unsafe blocks of each file, outside its tests. Written by check-unsafe.py
# --update; the commit that raises a number says why.
"""
MAX_LINES = 5
LINES_PER_BLOCK = 60
PLACES = ('rust/kprobes', 'rust/kernel', 'arch/*/kprobes')

# What is no code: comments, strings, characters. Lines stay lines.
NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'
    r"'(?:\\.[^']*|[^'\\])'", re.S)


def blank(match):
    """Replaces all but line ends by spaces."""
    return re.sub(r'[^\n]', ' ', match.group())


def block_end(code, start):
    """The offset after the brace that closes the one at `start`."""
    depth = 0
    for offset in range(start, len(code)):
        if code[offset] == '{':
            depth += 1
        elif code[offset] == '}':
            depth -= 1
            if depth == 0:
                return offset + 1
    return len(code)


def tests_of(code, name):
    """The range of offsets of `mod tests`, empty if there is none."""
    if name.endswith('/tests.rs') or '/tests/' in name:
        return range(len(code))
    match = re.search(r'^mod tests \{', code, re.M)
    if not match:
        return range(0)
    return range(match.start(), block_end(code, match.end() - 1))


def explained(lines, number):
    """Does a SAFETY comment stand before the statement with line `number`?

    Between the two there may be the earlier lines of the same statement.
    """
    for above in range(number - 1, -1, -1):
        line = lines[above].strip()
        if line.startswith('//'):
            while above >= 0 and lines[above].strip().startswith('//'):
                if lines[above].strip().startswith('// SAFETY:'):
                    return True
                above -= 1
            return False
        if not line or line[-1] in ';}' or (line[-1] == '{' and above < number - 2):
            return False
    return False


def look_at(path, name, complain):
    """The number of a file's unsafe blocks outside its tests, and of its lines."""
    text = path.read_text()
    lines = text.split('\n')
    code = NOISE.sub(blank, text)
    tests = tests_of(code, name)
    count = 0
    for match in re.finditer(r'\bunsafe\s*\{', code):
        start = match.start()
        number = code.count('\n', 0, start)
        # The lines of the two braces are not counted.
        length = code.count('\n', start, block_end(code, match.end() - 1)) - 1
        if length > MAX_LINES:
            complain(f'{name}:{number + 1}: expected at most {MAX_LINES} lines '
                     f'in an unsafe block, found: {length}')
        if not explained(lines, number):
            complain(f'{name}:{number + 1}: expected a comment "// SAFETY:" right '
                     f'before, found: {lines[number - 1].strip()}')
        if start not in tests:
            count += 1
    return count, len(lines) - 1


def read_budget():
    """The budget as a dictionary of file names."""
    if not BUDGET.exists():
        return {}
    rows = (line.split() for line in BUDGET.read_text().split('\n')
            if line and not line.startswith('#'))
    return {name: int(count) for count, name in rows}


def main():
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n', 1)[0])
    parser.add_argument('--update', action='store_true', help='write the budget file')
    parser.add_argument('root', nargs='?', default=HERE.parents[2], type=pathlib.Path)
    args = parser.parse_args()

    problems = []
    counts = {}
    total_lines = 0
    for place in PLACES:
        for folder in sorted(args.root.glob(place)):
            for path in sorted(folder.rglob('*.rs')):
                name = str(path.relative_to(args.root))
                counts[name], lines = look_at(path, name, problems.append)
                total_lines += lines
    if not counts:
        print(f'check-unsafe: no .rs files in {args.root}', file=sys.stderr)
        return 2

    found = {name: count for name, count in counts.items() if count}
    total = sum(found.values())
    if args.update:
        rows = ''.join(f'{count:3} {name}\n' for name, count in sorted(found.items()))
        BUDGET.write_text(HEAD + rows)
    budget = read_budget()
    for name in sorted(found.keys() | budget.keys()):
        have, may = found.get(name, 0), budget.get(name, 0)
        print(f'{have:3} {name}')
        if have != may:
            problems.append(f'{name}:1: expected {may} unsafe blocks (unsafe-budget), '
                            f'found: {have}')
    print(f'{total:3} unsafe blocks in {total_lines} lines, '
          f'1 in {total_lines // max(total, 1)}')
    if total * LINES_PER_BLOCK > total_lines:
        problems.append(f'{args.root}: expected at most one unsafe block in '
                        f'{LINES_PER_BLOCK} lines, found: {total} in {total_lines}')
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
