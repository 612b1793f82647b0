#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Counts the unsafe blocks of the Rust kprobes.

    check-unsafe.py [ROOT]

A folder has at most one unsafe block outside its tests in 60 lines, and no more
than LIMITS says: one more is a decision. No block is longer than five lines, in
tests too. Clippy sees that each has a SAFETY comment.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
MAX_LINES = 5
LINES_PER_BLOCK = 60
LIMITS = {'rust/kprobes': 196, 'arch/*/kprobes': 38, 'rust/kernel': 94}

# Comments, strings and characters, which are no code. Lines stay lines.
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|' r"'(?:\\.[^']*|[^'\\])'", re.S)


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


def look_at(path: pathlib.Path, name: str, problems: list[str]) -> tuple[int, int]:
    """The number of a file's unsafe blocks outside its tests, and of its lines."""
    text = path.read_text()
    lines = text.split('\n')
    # As long as the text, with its line ends.
    code = NOISE.sub(lambda match: re.sub(r'[^\n]', ' ', match[0]), text)
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
        count += start not in tests
    return count, len(lines) - 1


def main() -> int:
    """Returns the exit status."""
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    problems: list[str] = []
    for folder, limit in sorted((path, limit) for pattern, limit in LIMITS.items()
                                for path in root.glob(pattern)):
        crate = str(folder.relative_to(root))
        paths = sorted(folder.rglob('*.rs'))
        if not paths:
            continue
        counts = [look_at(path, str(path.relative_to(root)), problems) for path in paths]
        blocks, lines = (sum(column) for column in zip(*counts))
        most = min(limit, lines // LINES_PER_BLOCK)
        print(f'{crate}: {blocks} unsafe blocks in {lines} lines, 1 in {lines // max(blocks, 1)}')
        if blocks > most:
            problems.append(f'{crate}: expected at most {most} unsafe blocks, found: {blocks}; '
                            'do without, or say in the commit why LIMITS grows')
    if not (root / 'rust/kprobes').is_dir():
        print(f'check-unsafe: no rust/kprobes in {root}', file=sys.stderr)
        return 2
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
