#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Checks the layers of the Rust kprobes: which file may import what, where cfg,
#[path] and unsafe may stand, what each file starts with.

    check-layers.py [ROOT]      ROOT: the tree, by default the one it stands in

Prints file:line, what was expected and what was found; 1 if anything was.
"""
import pathlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from harness import arches

ROOT = pathlib.Path(__file__).resolve().parents[3]
PLACES = ('rust/kprobes/**/*.rs', 'arch/*/kprobes/**/*.rs', 'rust/kernel/kprobes/abi.rs',
          'rust/kernel/kprobes/signature.rs')
TESTS = 'CONFIG_RUST_KPROBES_KUNIT_TEST'
FORBID_UNSAFE = f'#![cfg_attr(not({TESTS}), forbid(unsafe_code))]'


@dataclass(frozen=True)
class Layer:
    """Files, and what they may have."""

    name: str
    files: str
    modules: str = ''       # of the crate, that it may name
    crates: str = ''        # besides core and itself
    config: bool = False    # other code is pure: configuration arrives as a value
    unsafe: bool = False


EDGE = 'kernel bindings pin_init'
MACHINE = ' '.join(f'arch/*/kprobes/{name}' for name in (
    'machine.rs', 'prepare.rs', 'poke.rs', 'saved_regs.rs', 'jump.rs', 'jump/*',
    'exrl_targets.rs', 'returns.rs', 'jprobes.rs'))
LAYERS = (
    # Pure files of the safe interface, which the host crate loads, too.
    Layer('pure', 'rust/kernel/kprobes/abi.rs rust/kernel/kprobes/signature.rs'),
    Layer('atomics', 'rust/kprobes/atomics.rs', 'checked'),
    Layer('model', 'rust/kprobes/model/* rust/kprobes/prelude.rs', 'model'),
    Layer('contract', 'rust/kprobes/contract/isa.rs', 'model'),
    Layer('contract', 'rust/kprobes/contract.rs rust/kprobes/contract/tests.rs',
          'model sys contract', EDGE, unsafe=True),
    Layer('isa', 'arch/*/kprobes/isa/*', 'model contract'),
    Layer('arch', 'rust/kprobes/arch.rs rust/kprobes/decoder.rs arch/*/kprobes/mod.rs',
          config=True),
    Layer('text_metadata', 'rust/kprobes/text_metadata/index.rs', 'model'),
    Layer('text_metadata', 'rust/kprobes/text_metadata.rs rust/kprobes/text_metadata/*',
          'model sys text_metadata', EDGE, config=True, unsafe=True),
    Layer('flags', 'rust/kprobes/sys/flags.rs', 'atomics'),
    Layer('sys', 'rust/kprobes/sys.rs rust/kprobes/sys/*', 'atomics model sys',
          EDGE, config=True, unsafe=True),
    Layer('table', 'rust/kprobes/table.rs', 'atomics model sys table', EDGE, config=True,
          unsafe=True),
    Layer('bits', 'rust/kprobes/slots/bits.rs', 'atomics'),
    Layer('slots', 'rust/kprobes/slots.rs', 'atomics model sys table slots', EDGE, unsafe=True),
    Layer('machine', MACHINE, 'model contract sys table slots text_metadata', EDGE, config=True,
          unsafe=True),
    Layer('queue', 'rust/kprobes/registry/queue.rs', 'atomics model'),
    Layer('registry', 'rust/kprobes/registry/*',
          'model contract arch sys table text_metadata registry', 'kernel', config=True),
    Layer('optimize', 'rust/kprobes/optimize/*',
          'model contract arch sys slots text_metadata registry', 'kernel', config=True),
    Layer('hit', 'rust/kprobes/hit/*', 'model contract arch sys registry', 'kernel',
          config=True),
    Layer('lifecycle', 'rust/kprobes/lifecycle/*',
          'model contract arch sys table slots text_metadata registry', 'kernel', config=True),
    Layer('returns, pure', ' '.join(f'rust/kprobes/returns/{name}.rs' for name in (
        'bitmap', 'growth', 'stage')), 'atomics'),
    Layer('returns, hit', 'rust/kprobes/returns/hit.rs', 'model contract arch sys registry hit',
          unsafe=True),
    Layer('returns, safe', 'rust/kprobes/returns/register.rs',
          'model contract arch sys registry lifecycle'),
    Layer('returns', 'rust/kprobes/returns/*',
          'atomics model contract arch sys registry hit lifecycle abi', EDGE, config=True,
          unsafe=True),
    Layer('jprobes', 'rust/kprobes/jprobes/*', 'model sys registry hit lifecycle abi', EDGE,
          config=True, unsafe=True),
    Layer('debugfs', 'rust/kprobes/debugfs.rs',
          'model sys slots registry optimize hit lifecycle returns', 'kernel', config=True),
    Layer('edge', 'rust/kprobes/abi.rs rust/kprobes/abi/* arch/*/kprobes/entry.rs',
          'model contract arch sys slots registry optimize hit lifecycle returns debugfs', EDGE,
          config=True, unsafe=True),
    Layer('root', 'rust/kprobes/rust_kprobes.rs', crates=EDGE, config=True),
)
FORBIDS_UNSAFE = re.compile(r'/(model|registry|optimize|hit|lifecycle|isa)/mod\.rs$'
                            r'|/returns/(bitmap|growth|stage|register)\.rs$')
NAMED = re.compile(r'(?<![\w:])(crate::[a-z_]+|(?:kernel|alloc|std|pin_init)(?=::)'
                   r'|bindings(?=::)|super::super)|kernel::(bindings)|^[ \t]*(bindings),', re.M)
# Patterns that no line of code may have, and the rule they break; tests included.
CONFIG = r'CONFIG_|cfg[a-z_]*\(.*target_', 'no configuration in pure code (it arrives as a value)'
PANIC = r'\.unwrap\(\)|\.expect\(|panic!\(|unreachable!\(', 'no way to panic (say Refusal)'
PATH = r'#\[path|path *=', '#[path] in rust/kprobes/arch.rs only'
CHOSEN = (rf'CONFIG_({"|".join(arches.of(name).option for name in arches.NAMES)})'
          r'([^A-Z_0-9]|(_64|64|32)[^A-Z_0-9])',
          'the architecture chosen in rust/kprobes/arch.rs only')
UNSAFE = r'(^|[^a-z_])unsafe([^a-z_]|$)', 'no unsafe in this layer'


class File:
    """A file of Rust code, and what is wrong with it."""

    def __init__(self, root: pathlib.Path, name: str) -> None:
        self.name = name
        self.text = (root / name).read_text()
        self.lines = [*self.text.split('\n'), '', '']
        self.problems: list[str] = []
        self.code = re.sub(r'//.*', '', self.text).replace(TESTS, '')

    def report(self, line: int, expected: str, found: str) -> None:
        """Note a problem."""
        self.problems.append(f'{self.name}:{line}: expected {expected}, found: {found}')

    def forbid(self, *rules: tuple[str, str]) -> None:
        """Each line of code that matches the pattern of a rule is a problem."""
        for rule in rules:
            code = self.code
            if rule is PANIC:
                code = re.split(r'^mod tests', code, maxsplit=1, flags=re.M)[0]
            for number, line in enumerate(code.split('\n')):
                if re.search(rule[0], line):
                    self.report(number + 1, rule[1], self.lines[number].strip())

    def named(self) -> Iterator[tuple[int, str]]:
        """Line and name of each module after crate::, of each crate, and bindings."""
        # The one macro of the kernel crate that pure code may name.
        code = self.code.replace('kernel::macros::kunit_tests(', '')
        for match in NAMED.finditer(code):
            yield code.count('\n', 0, match.start(match.lastindex)) + 1, match[match.lastindex]
        # crate::{a::{..}, b} names a and b.
        for group in re.finditer(r'crate::(?={)', code):
            depth = 0
            for token in re.compile(r'[{}]|(?<=[{,])\s*(\w+)').finditer(code, group.end()):
                depth += {'{': 1, '}': -1}.get(token[0], 0)
                if not depth:
                    break
                if token[1] and depth == 1:
                    yield code.count('\n', 0, token.start(1)) + 1, f'crate::{token[1]}'


def check(file: File) -> None:
    """A file of the crate."""
    layer = next((layer for layer in LAYERS for pattern in layer.files.split()
                  if fnmatchcase(file.name, pattern)), None)
    if not layer:
        file.report(1, 'a file of a known layer (see LAYERS in check-layers.py)', 'a new name')
        return
    modules = layer.modules.replace('model', 'model prelude')
    allowed = [*(f'crate::{name}' for name in modules.split()), *layer.crates.split()]
    for line, name in file.named():
        if name not in allowed:
            file.report(line, f'only {" ".join(allowed)} in the layer \'{layer.name}\'', name)
    for number, line in enumerate(file.lines):
        if len(line) > 100:     # rustfmt leaves comments alone
            file.report(number + 1, 'at most 100 columns', f'{len(line)}')
    if not file.lines[2].startswith('//! '):
        file.report(3, '//! and what the file is', file.lines[2])
    file.forbid(PANIC, *([] if layer.config else [CONFIG]), *([] if layer.unsafe else [UNSAFE]),
                *([] if layer.name == 'arch' else [PATH]),
                *([] if layer.name in ('arch', 'root') else [CHOSEN]))
    if FORBIDS_UNSAFE.search(file.name) and FORBID_UNSAFE not in file.text:
        file.report(1, FORBID_UNSAFE, 'none')


def main() -> int:
    """Returns the exit status."""
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    names = sorted(str(path.relative_to(root)) for place in PLACES for path in root.glob(place))
    if not names:
        print(f'check-layers: no .rs files below {" and ".join(PLACES)} in {root}', file=sys.stderr)
        return 2
    files = [File(root, name) for name in names]
    for file in files:
        check(file)
    problems = [problem for file in files for problem in file.problems]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
