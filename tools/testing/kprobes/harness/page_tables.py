# SPDX-License-Identifier: GPL-2.0
"""The tables of the pages have what the code has: no row more, none less."""

import re
from itertools import zip_longest
from pathlib import Path

import documents
import env

_REFUSALS = 'rust/kprobes/model/refusal.rs'
_RUST_REASONS = 'rust/kernel/kprobes/refused.rs'
# The reasons of a client in Rust that no refusal has.
_ONLY_IN_RUST = {'BadName', 'OtherArguments', 'NotInjectable', 'TextGoes',
                 'NoState', 'MayNotWait', 'Other'}

Rows = set[tuple[str, ...]]


def rows(path: Path, columns: int) -> Rows:
    """The rows of the page's list-tables of so many COLUMNS."""
    rows_of_all = [
        tuple(' '.join(cell.split())
              for cell in re.split(r'^   [* ] - ', row, flags=re.M)[1:])
        for row in re.findall(r'^   \* - .*\n(?:    .*\n)*',
                              path.read_text(), re.M)]
    return {row for row in rows_of_all if len(row) == columns}


def _texts(name: str) -> dict[str, str]:
    """{value: words}: what a macro call in the file NAME lists."""
    text = re.sub(r'\\\n\s*', '', (env.REPO / name).read_text())
    return dict(re.findall(r'^    (\w+) ?(?:\([^()]*\))?\s*=>\s*"([^"]*)",', text, re.M))


def refusals() -> Rows:
    """(errno, words) of each refusal."""
    texts = _texts(_REFUSALS)
    abi = (env.REPO / 'rust/kprobes/abi/errno.rs').read_text()
    abi = abi[abi.index('match refusal {'):]
    arms = re.findall(r'((?:\|?\s*Refusal::\w+(?:\(\w+\))?\s*)+)=> (?:unfit\()?(\w+)', abi)
    errnos = {name: errno for names, errno in arms for name in re.findall(r'Refusal::(\w+)', names)}
    [others] = re.findall(r'\b_ => (\w+)', abi)
    return {(f'``-{errno}``' if errno.isupper() else 'ftrace\'s', text)
            for name, text in texts.items() for errno in [errnos.get(name, others)]}


def reasons_for_no_jump() -> Rows:
    """(constant, words) of each reason why a probe has no jump. C's enum has the
    same names as Rust's, in the same order."""
    texts = _texts('rust/kprobes/model/no_jump.rs')
    patches = (env.REPO / 'patches').glob('*.patch')
    constants = re.findall(r'^\+\t(KPROBE_NO_JUMP_\w+)(?: = 1)?,$', ''.join(
        patch.read_text() for patch in sorted(patches)), re.M)
    snake = [re.sub(r'(?<!^)(?=[A-Z])', '_', name).upper() for name in texts]
    return {(f'``{constant}``', texts[name]) for constant, of_rust, name in
            zip_longest(constants, snake, texts)
            if constant == f'KPROBE_NO_JUMP_{of_rust}'}


def rust_reasons() -> Rows:
    """(reason, words) of each reason that a client in Rust is told."""
    return {(f'``{name}``', text) for name, text in _texts(_RUST_REASONS).items()}


def figures() -> Rows:
    """(what, C's, ours) of README, as make bench counts them."""
    text = (env.REPO / 'README.md').read_text()
    return set(re.findall(r'^\| (.*?) \| (.*?) \| (.*?) \| `make bench', text, re.M))


def files() -> Rows:
    """(name, mode) of each file in debugfs."""
    return {(f'``{name}``', mode)
            for path in (env.REPO / 'rust/kprobes').rglob('*.c')
            for name, mode in re.findall(
                r'\{ "(\w+)", (\d+) \}', path.read_text())}


def check() -> list[str]:
    """The rows that a table or the code has, and not the other."""
    def shown(page: str, columns: int) -> Rows:
        return rows(documents.PAGES / page, columns)
    # Reasons in Rust whose words are not those of a refusal.
    known = set(_texts(_REFUSALS).values())
    mismatches = [f'{_RUST_REASONS}: {name}: no words of {_REFUSALS}: {text}'
                  for name, text in sorted(_texts(_RUST_REASONS).items())
                  if name not in _ONLY_IN_RUST and text not in known]
    for page, present, wanted in (
            ('errors.rst', shown('errors.rst', 2) - {
                ('errno', 'why'), ('reason', 'in words')},
             refusals() | reasons_for_no_jump() | rust_reasons()),
            ('overhead.rst', shown('overhead.rst', 3) - {
                ('what', 'C', 'Rust')}, figures()),
            ('debugfs.rst', {row[:2] for row in shown('debugfs.rst', 3)
                             if re.fullmatch(r'0\d+', row[1])}, files())):
        mismatches += [f'{page}: not in it: {" | ".join(row)}' for row in sorted(wanted - present)]
        mismatches += [f'{page}: no more: {" | ".join(row)}' for row in sorted(present - wanted)]
    return mismatches
