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


def spaces(match: re.Match) -> str:
    """As long as what was matched, with its line ends."""
    return re.sub(r'[^\n]', ' ', match[0])


def block_end(code: str, start: int) -> int:
    """The offset behind the brace that closes the first one from START on."""
    depth = 0
    for match in re.compile('[{}]').finditer(code, start):
        depth += 1 if match[0] == '{' else -1
        if not depth:
            return match.end()
    return len(code)


def tests_of(code: str, name: str) -> range:
    """The offsets of `mod tests`, none if there is none."""
    if name.endswith('/tests.rs') or '/tests/' in name:
        return range(len(code))
    match = re.search(r'^mod tests \{', code, re.M)
    return range(match.start(), block_end(code, match.start())) if match else range(0)


def explained(lines: list[str], number: int) -> bool:
    """Does a SAFETY comment stand before the statement with line NUMBER?

    Between the two there may be the earlier lines of the same statement.
    """
    above = number - 1
    while above >= 0 and not (line := lines[above].strip()).startswith('//'):
        if not line or line[-1] in ';}' or (line[-1] == '{' and above < number - 2):
            return False
        above -= 1
    while above >= 0 and (line := lines[above].strip()).startswith('//'):
        if line.startswith('// SAFETY:'):
            return True
        above -= 1
    return False


def look_at(path: pathlib.Path, name: str, problems: list[str]) -> tuple[int, int]:
    """The number of a file's unsafe blocks outside its tests, and of its lines."""
    text = path.read_text()
    lines = text.split('\n')
    code = NOISE.sub(spaces, text)
    tests = tests_of(code, name)
    count = 0
    for match in re.finditer(r'\bunsafe\s*\{', code):
        start = match.start()
        number = code.count('\n', 0, start)
        # The lines of the two braces are not counted.
        length = code.count('\n', start, block_end(code, start)) - 1
        if length > MAX_LINES:
            problems.append(f'{name}:{number + 1}: expected at most {MAX_LINES} lines '
                            f'in an unsafe block, found: {length}')
        if not explained(lines, number):
            problems.append(f'{name}:{number + 1}: expected a comment "// SAFETY:" right '
                            f'before, found: {lines[number - 1].strip()}')
        count += start not in tests
    return count, len(lines) - 1


def read_budget() -> dict[str, int]:
    """The budget, by file."""
    rows = [line.split() for line in BUDGET.read_text().splitlines()
            if line and not line.startswith('#')] if BUDGET.exists() else []
    return {name: int(count) for count, name in rows}


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n', 1)[0])
    parser.add_argument('--update', action='store_true', help='write the budget file')
    parser.add_argument('root', nargs='?', default=HERE.parents[2], type=pathlib.Path)
    args = parser.parse_args()

    problems: list[str] = []
    counts = {}
    for folder in (folder for place in PLACES for folder in sorted(args.root.glob(place))):
        for path in sorted(folder.rglob('*.rs')):
            name = str(path.relative_to(args.root))
            counts[name] = look_at(path, name, problems)
    if not counts:
        print(f'check-unsafe: no .rs files in {args.root}', file=sys.stderr)
        return 2

    blocks = {name: count for name, (count, _) in sorted(counts.items()) if count}
    if args.update:
        BUDGET.write_text(HEAD + ''.join(f'{count:3} {name}\n'
                                         for name, count in blocks.items()))
    budget = read_budget()
    for name in sorted(blocks.keys() | budget.keys()):
        have, may = blocks.get(name, 0), budget.get(name, 0)
        print(f'{have:3} {name}')
        if have != may:
            problems.append(f'{name}:1: expected {may} unsafe blocks (unsafe-budget), '
                            f'found: {have}')
    total, lines = sum(blocks.values()), sum(count for _, count in counts.values())
    print(f'{total:3} unsafe blocks in {lines} lines, 1 in {lines // max(total, 1)}')
    if total * LINES_PER_BLOCK > lines:
        problems.append(f'{args.root}: expected at most one unsafe block in '
                        f'{LINES_PER_BLOCK} lines, found: {total} in {lines}')
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
