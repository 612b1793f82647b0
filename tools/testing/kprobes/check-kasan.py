#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Checks that KASAN's checks are in each of our files, and not called.

    check-kasan.py OBJECT|FOLDER...

Of objects, or of those that a built folder puts into the kernel: each must
report to KASAN, and none may call it for an access, as a hit would lead to what
a probe may be on. The crate is one object, so its functions are counted by the
file that they come from; functions of tests are left out, and what was inlined
counts where it went. What is written in assembly is left out. A file whose
functions reach memory by a pointer (by another register than those of the
stack, the code and the CPU's own data), but never report, is an error.
"""
import pathlib
import re
import sys

from objects import disassembled, linked

TREE = pathlib.Path(__file__).resolve().parents[3]
CRATE = '12rust_kprobes'
# The symbol of a Rust function begins with its crate.
ROOT = re.compile(r'_R\w*?Cs[0-9A-Za-z]+_(?=\d)')
REPORT = re.compile(r'__asan_report_(load|store)|__kasan_check_(read|write)')
CALL = re.compile(r'__(hw)?asan_(load|store)')
RELOCATION = re.compile(r'R_[A-Z]\w+\s+([^\s+-]+)')
# All that is of one architecture, here x86-64: where our files for it are, what
# an instruction reaches by a pointer, and instructions that reach nothing.
BACK_END = 'arch/x86/kprobes'
POINTER = re.compile(r'(?<!:)(?<!\w)(-?0x[0-9a-f]+)?\(%(?!rsp|rbp|rip)\w+')
NO_ACCESS = re.compile(r'(lea|nop)[lqw]?\b')

Functions = dict[str, tuple[list[str], int]]


def functions(name: pathlib.Path) -> Functions:
    """{function of an object: (the names that it refers to, its accesses)}."""
    result: dict = {}
    for function, _, text in disassembled(name):
        names, accesses = result.get(function, ([], 0))
        if match := RELOCATION.match(text):
            names.append(match[1])
        elif not NO_ACCESS.match(text) and POINTER.search(text):
            accesses += 1
        result[function] = names, accesses
    return result


def path(symbol: str) -> list[str]:
    """The names that lead to a function of the crate, from its symbol."""
    rest, names = symbol[symbol.index(CRATE) + len(CRATE):], []
    while match := re.match(r'(?:s[0-9a-zA-Z]*_)?(\d+)_?', rest):
        length = int(match[1])
        names.append(rest[match.end():match.end() + length])
        rest = rest[match.end() + length:]
    return names


def file_of(symbol: str, sources: dict[str, str]) -> str | None:
    """The file that a function comes from; None if of a test, or core's."""
    root = ROOT.match(symbol)
    if root and not symbol.startswith(CRATE, root.end()):
        return None
    if not root:
        wanted = re.compile(rf'\bfn {re.escape(symbol)}\b')
        return next((name for name, text in sources.items() if wanted.search(text)), None)
    names = path(symbol)
    if 'tests' in names:
        return None
    base = 'rust/kprobes'
    if names[:2] == ['arch', 'selected']:
        base, names = BACK_END, names[2:]
    stems = ('/'.join([base, *names[:count]]) for count in range(len(names), 0, -1))
    return next((name for stem in stems for name in (f'{stem}.rs', f'{stem}/mod.rs')
                 if name in sources), None)


def check_crate(symbols: Functions, sources: dict[str, str]) -> int:
    """Counts by file; tells whether one has no check."""
    counts: dict[str, list[int]] = {}
    for symbol, (names, accesses) in symbols.items():
        if name := file_of(symbol, sources):
            count = counts.setdefault(name, [0, 0, 0])
            count[0] += 1
            count[1] += sum(map(bool, map(REPORT.match, names)))
            count[2] += accesses
    if not counts:
        sys.exit('expected functions of our files in the crate, found none')
    failed = 0
    for name, (number, checks, accesses) in sorted(counts.items()):
        print(f'{name}: {number} functions, {checks} checks')
        if accesses and not checks:
            print(f'{name}: expected checks of KASAN, as there are '
                  f'{accesses} accesses, found none')
            failed = 1
    return failed


def main() -> int:
    """Returns the exit status."""
    sources = {str(path.relative_to(TREE)): path.read_text()
               for folder in ('rust/kprobes', BACK_END)
               for path in (TREE / folder).rglob('*.rs')}
    failed = 0
    for name in linked(sys.argv[1:]):
        symbols = functions(name)
        names = {name for names, _ in symbols.values() for name in names}
        called = sorted(filter(CALL.match, names))
        if called:
            print(f'{name}: expected no call of KASAN for an access, '
                  f'found: {", ".join(called)}')
            failed = 1
        # No compiler puts checks into assembly, and a test's C file accesses no memory.
        if name.stem.endswith('_test') or (TREE / BACK_END / f'{name.stem}.S').exists():
            continue
        if not any(map(REPORT.match, names)):
            print(f'{name}: expected checks of KASAN, found none')
            failed = 1
        if any(ROOT.match(symbol) for symbol in symbols):
            failed |= check_crate(symbols, sources)
    return failed


if __name__ == '__main__':
    sys.exit(main())
