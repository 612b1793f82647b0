# SPDX-License-Identifier: GPL-2.0
"""README.md and the pages: their listings and tables.

A listing holds commands of ours, or ones that install what they need. Any other
says how it is known to be right, in a comment before it: `.. checked: HOW` in a
page, `<!-- checked: HOW -->` in README. HOW is one of

make run        `make run` shows these lines, and fails where it does not
make module     the test of the examples shows them
file PATH       that file ends with the listing
test NAME       the test of that name shows it
picture         nothing is to be run: boxes and arrows

A literalinclude needs no mark: it is a part of a file that the tests build.
"""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import env

PAGES = env.REPO / 'Documentation/trace/rust-kprobes'

_MARK = re.compile(r'\s*(?:\.\.|<!--) checked: (.*?)(?: -->)?$')
_INCLUDE = re.compile(r'\s*\.\. literalinclude::\s*(\S*)$')


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
        """The page and line, for whoever mends it."""
        return f'{self.page}:{self.line}'


def pages() -> list[Path]:
    """README, the developers' page and the pages."""
    return [env.REPO / 'README.md', *sorted(PAGES.glob('*.rst')),
            *sorted((env.REPO / 'tools/testing/kprobes').glob('*.rst'))]


def name_of(path: Path) -> str:
    """PATH within the repository."""
    return str(path.relative_to(env.REPO))


def _opens(line: str, following: str, markdown: bool) -> bool:
    """Does LINE open a listing, the first line of which is FOLLOWING?"""
    if markdown:
        return not line.strip() and following.startswith('    ')
    line = line.strip()
    return line.startswith('.. code-block::') or line.endswith('::') and not line.startswith('.. ')


def listings(path: Path) -> Iterator[Listing]:
    """All listings of a page."""
    lines, how, at = [*path.read_text().split('\n'), ''], '', 0
    while at < len(lines) - 1:
        line = lines[at]
        at += 1
        if mark := _MARK.match(line):
            how = mark[1]
        if include := _INCLUDE.match(line):
            yield Listing(name_of(path), at, how, [], include[1])
        elif _opens(line, lines[at], path.suffix == '.md'):
            first, margin = at, len(line) - len(line.lstrip())
            while at < len(lines) and (
                    not lines[at].strip()
                    or len(lines[at]) - len(lines[at].lstrip()) > margin):
                at += 1
            text = textwrap.dedent('\n'.join(lines[first:at]))
            begin = first + len(text) - len(text.lstrip('\n'))
            yield Listing(name_of(path), begin + 1, how or 'commands', text.strip('\n').split('\n'))
        else:
            continue
        how = ''


# The parts of a line that differ from run to run; 0 and errnos stay as they are.
_VARIES = re.compile(r'''
    (?P<flags>(?<=\s)(?=\S{0,4}\.)[.\w#]{5}(?=\s))
    | (?P<hex>0x[0-9a-f]+)
    | (?P<address>\b[0-9a-f]{16}\b)
    | (?P<time>\d+\.\d+)
    | (?P<same>(?<=\s)-\d+\b|(?<!\d)0(?!\d))
    | (?P<cpu>(?<=\[)0\d+)
    | (?P<count>\d+)
    | (?P<blanks>\s+)''', re.X)


def _pattern_of(line: str) -> str:
    """LINE, with the kind of what varies in its place."""
    return _VARIES.sub(
        lambda match: match[0] if match.lastgroup == 'same'
        or match[0] == '0x0' else f'<{match.lastgroup}>', line.strip())


def absent(wanted: list[str], lines: list[str]) -> str:
    """The first of WANTED that is not in LINES, in that order; or ''."""
    rest = map(_pattern_of, lines)
    for line in wanted:
        line = line.strip().removeprefix('kernel: ')
        # A line that matches is consumed: the next one must come behind it.
        if line and _pattern_of(line) not in rest:
            return line
    return ''


def sessions() -> list[Listing]:
    """The listings that `make run` must show."""
    return [listing for path in pages() for listing in listings(path) if listing.how == 'make run']


def unseen(lines: list[str]) -> list[str]:
    """Lines of `make run` in the pages that the LINES of a guest lack."""
    return [f'{listing.place}: {line}' for listing in sessions()
            if (line := absent(listing.text, lines))]
