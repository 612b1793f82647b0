# SPDX-License-Identifier: GPL-2.0
"""README.md and the pages: their listings and tables.

Each listing says how it is known to be right, in a comment before it:
`.. checked: HOW` in a page, `<!-- checked: HOW -->` in README. HOW is one of

make run        `make run` shows these lines, and fails where it does not
make module     the test of the examples shows them
file PATH       the listing is that file, without its licence
test NAME       the test of that name shows it
commands        commands of ours, or that install what they need
picture         nothing is to be run: boxes and arrows

A literalinclude needs no mark: it is a part of a file.
"""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import env

PAGES = env.REPO / 'Documentation/trace/rust-kprobes'

_MARK = re.compile(r'\s*(?:\.\.|<!--) checked: (.*?)(?: -->)?$')
_DIRECTIVE = re.compile(r'\s*\.\. (literalinclude|code-block)::\s*(\S*)$')
_OPTIONS = re.compile(r'(?::[\w-]+:.*\n|\n)*')


@dataclass
class Listing:
    """Lines that stand by themselves."""

    page: str
    line: int
    how: str
    text: list[str]
    include: str = ''

    @property
    def place(self) -> str:
        """Where it is, for whoever has to mend it."""
        return f'{self.page}:{self.line}'


def pages() -> list[Path]:
    """README, the developers' page and the pages."""
    return [env.REPO / 'README.md', *sorted(PAGES.glob('*.rst')),
            *sorted((env.REPO / 'tools/testing/kprobes').glob('*.rst'))]


def name_of(path: Path) -> str:
    """PATH within the repository."""
    return str(path.relative_to(env.REPO))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _opens(lines: list[str], at: int, markdown: bool) -> bool:
    """Does a listing follow the line AT?"""
    line = lines[at].rstrip()
    if markdown:
        return not line and ''.join(lines[at + 1:at + 2]).startswith('    ')
    return line.endswith('::') and not line.lstrip().startswith('.. ')


def listings(path: Path) -> Iterator[Listing]:
    """All listings of a page."""
    lines, how, at = path.read_text().split('\n'), '', 0
    while at < len(lines):
        opening = lines[at]
        directive = _DIRECTIVE.match(opening)
        if mark := _MARK.match(opening):
            how = mark[1]
        if not directive and not _opens(lines, at, path.suffix == '.md'):
            at += 1
            continue
        first = at = at + 1
        while at < len(lines) and (not lines[at].strip()
                                   or _indent(lines[at]) > _indent(opening)):
            at += 1
        text = textwrap.dedent('\n'.join([*lines[first:at], '']))
        skipped = _OPTIONS.match(text)[0]
        text = text[len(skipped):].rstrip().splitlines()
        begin = first + skipped.count('\n') + 1 if text else first
        include = directive[2] if directive \
            and directive[1] == 'literalinclude' else ''
        yield Listing(name_of(path), begin, how, text, include)
        how = ''


def rows(path: Path, columns: int) -> set[tuple[str, ...]]:
    """The rows of the page's list-tables of so many COLUMNS."""
    rows_of_all = [
        tuple(' '.join(cell.split())
              for cell in re.split(r'^   [* ] - ', row, flags=re.M)[1:])
        for row in re.findall(r'^   \* - .*\n(?:    .*\n)*',
                              path.read_text(), re.M)]
    return {row for row in rows_of_all if len(row) == columns}
