#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Checks how the files of the Rust kprobes hang together.

    check-walks.py [ROOT]       ROOT: the tree, by default the one it stands in

Circles: no two files use each other, directly or by way of others, with any back end.
A file uses what its `use` and its paths from crate:: name; `mod`, `pub use` and tests
do not count.

Walks, with x86's back end: whoever follows one of WALKS through the code enters at most
so many files. A walk goes from a function to those that its body calls: of the same
file, of an imported one, of the back end by `Arch::`, or a method that one file alone
has, save for those that are CORE's as well. Files of what is not built (none.rs) are
left out. It stops at what only a failure, a jump or a nested hit needs, and does not
enter SERVICE: what answers a question from below the registry, words, and the decoder.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Where a walk begins, the most files, and where it stops.
WALKS = {'register to armed': ('rust/kprobes/abi.rs', 'register_kprobe', 15,
                               '.remove_jumps_over .reconsider .remove_jumps .note '
                               'recover_from_jump unregister::all unregister::undo_registration'),
         'hit': ('arch/x86/kprobes/entry.rs', 'kprobe_int3_handler', 6, 'inner_trap jprobe::enter'),
         'unregister': ('rust/kprobes/abi.rs', 'unregister_kprobe', 8,
                        '.remove_jumps_and_disarm .forget_jump .reconsider')}
CORE = {'and'}
# An instance, its pool and their probe lead to each other.
KNOWN = 'rust/kprobes/returns/'
SERVICE = re.compile(r'/(sys|table|slots|text_metadata|model|isa)[./]'
                     r'|/(contract|prelude|atomics)\b')
NOISE = re.compile(r'//[^\n]*|"(?:\\.|[^"\\])*"' r"|'(?:\\.[^']*|[^'\\])'")
USE = re.compile(r'(?:^|\n)\s*use ([^;]*);')
CALL = re.compile(r'(\.\s*)?((?:\w+::)*)\b(\w+)\b(\()?')


def module(name: str) -> str:
    """The path of a file's module in the crate."""
    path = re.sub('^arch/[^/]*/kprobes', 'crate/arch/selected', name)
    path = path.replace('rust/kprobes', 'crate')
    return re.sub(r'(/mod)?\.rs$', '', path).replace('/', '::')


def block(code: str, start: int) -> int:
    """The offset behind the braces that begin at or after START, or behind a semicolon."""
    depth = 0
    for match in re.compile('[{};]').finditer(code, start):
        depth += {'{': 1, '}': -1, ';': 0}[match[0]]
        if not depth:
            return match.end()
    return len(code)


def leaves(tree: str) -> list[str]:
    """The paths of a use tree: a::{b, c::d} are a::b and a::c::d."""
    tree = re.sub(r'\s', '', tree).replace('::self', '').replace('{self,', '{=,')
    while group := re.search(r'([\w:]*)::\{([^{}]*)\}', tree):
        paths = (f'{group[1]}::{part}' for part in group[2].split(',') if part)
        tree = tree.replace(group[0], ','.join(paths))
    return [path.replace('::=', '') for path in tree.split(',') if path]


class File:
    """A file: its functions, and the path of each name that it imports."""

    def __init__(self, root: pathlib.Path, name: str) -> None:
        self.name, self.module = name, module(name)
        code = NOISE.sub(' ', (root / name).read_text())
        for match in reversed([*re.finditer(r'\bmod \w*tests? \{', code)]):
            code = code[:match.start()] + code[block(code, match.start()):]
        self.code = re.sub(r'pub(\([^)]*\))? use [^;]*;', '', code)
        self.imports = {path.rpartition('::')[2]: self.full(path)
                        for use in USE.findall(self.code) for path in leaves(use)}
        self.functions: dict[str, str] = {}
        for match in re.finditer(r'\bfn (\w+)', code):
            body = code[match.end():block(code, match.end())]
            self.functions[match[1]] = self.functions.get(match[1], '') + body
        self.functions |= dict(re.findall(r'\nclient_call!\((\w+)\((.*)\);', code))

    def full(self, path: str) -> str:
        """A path from the root of the crate."""
        if path.startswith(('crate::', 'core::', 'kernel::')):
            return path
        if path.startswith('super::'):
            return self.module.rpartition('::')[0] + path.removeprefix('super')
        return f'{self.module}::{path}'


class Crate:
    """All files, but for tests."""

    def __init__(self, root: pathlib.Path, arch: str = 'x86') -> None:
        names = [str(path.relative_to(root)) for place in ('rust/kprobes', f'arch/{arch}/kprobes')
                 for path in sorted((root / place).rglob('*.rs'))
                 if '/tests' not in str(path) and path.name != 'none.rs']
        self.files = [File(root, name) for name in names if name != 'rust/kprobes/rust_kprobes.rs']
        self.by_module = {file.module: file for file in self.files}

    def file(self, path: str) -> File | None:
        """The file that a path leads to."""
        while path and path not in self.by_module:
            path = path.rpartition('::')[0]
        return self.by_module.get(path)

    def circles(self) -> set[tuple[str, ...]]:
        """Files that use each other."""
        reach = {}
        for file in self.files:
            paths = [*file.imports.values(), *re.findall(r'crate(?:::\w+)+', file.code)]
            reach[file.name] = {used.name for path in paths if (used := self.file(path))}
            reach[file.name].discard(file.name)
        for middle in reach:
            for name in reach:
                if middle in reach[name]:
                    reach[name] = reach[name] | reach[middle]
        return {tuple(other for other in reach if other in reach[name] and name in reach[other])
                for name in reach if name in reach[name] and not name.startswith(KNOWN)}

    def calls(self, file: File, body: str, stops: set[str]) -> set[tuple[File, str]]:
        """File and name of each function that a body calls."""
        called = set()
        for dot, path, name, call in CALL.findall(body):
            if {name, (dot.strip() or path) + name} & stops or not (path or call):
                continue
            if dot and name in CORE:
                continue
            first = path.split('::')[0] or name
            if dot:
                targets = [other for other in self.files if name in other.functions]
                targets = [file] if file in targets else targets if len(targets) == 1 else []
            elif path == 'Arch::':
                targets = [other for other in self.files if other.name.startswith('arch/')]
            else:
                used = self.file(file.imports.get(first, ''))
                targets = [used] if used else [] if path not in ('', 'Self::') else [file]
            called |= {(target, name) for target in targets
                       if name in target.functions and not SERVICE.search(target.name)}
        return called

    def walk(self, name: str, function: str, stops: set[str]) -> list[str]:
        """The files that a walk enters."""
        todo = [(file, function) for file in self.files if file.name == name]
        seen = set(todo)
        while todo:
            file, function = todo.pop()
            new = self.calls(file, file.functions[function], stops) - seen
            seen, todo = seen | new, [*todo, *new]
        return sorted({file.name.replace('rust/kprobes/', '') for file, _ in seen})


def main() -> int:
    """Returns the exit status."""
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    back_ends = sorted(path.parent.name for path in root.glob('arch/*/kprobes'))
    crate, failed = Crate(root), False
    for circle in sorted({circle for arch in back_ends for circle in Crate(root, arch).circles()}):
        print(f'{circle[0]}: expected no circle, found: {" ".join(circle)}')
        failed = True
    for walk, (name, function, most, stops) in WALKS.items():
        entered = crate.walk(name, function, {*stops.split()})
        print(f'{walk}: {len(entered)} files, at most {most}:', *entered)
        failed |= len(entered) > most
    return int(failed)


if __name__ == '__main__':
    sys.exit(main())
