# SPDX-License-Identifier: GPL-2.0
"""What README and the pages show of `make run`, and what a guest shows."""

import re

import documents

# What another run has otherwise; of numbers, 0 and errnos stay as they are.
_VARIES = re.compile(r'''
    (?P<flags>(?<=\s)(?=\S{0,4}\.)[.\w#]{5}(?=\s))
    | (?P<hex>0x[0-9a-f]+)
    | (?P<address>\b[0-9a-f]{16}\b)
    | (?P<time>\d+\.\d+)
    | (?P<same>(?<=\s)-\d+\b|(?<!\d)0(?!\d))
    | (?P<cpu>(?<=\[)0\d+)
    | (?P<count>\d+)
    | (?P<blanks>\s+)''', re.X)


def _what_stays(line: str) -> str:
    """LINE, with the kind of what varies in its place."""
    return _VARIES.sub(
        lambda match: match[0] if match.lastgroup == 'same'
        or match[0] == '0x0' else f'<{match.lastgroup}>', line.strip())


def absent(wanted: list[str], lines: list[str]) -> str:
    """The first of WANTED that is not in LINES, in that order; or ''."""
    rest = map(_what_stays, lines)
    for line in wanted:
        line = line.strip().removeprefix('kernel: ')
        # What is looked for is consumed: the next one must come behind it.
        if line and _what_stays(line) not in rest:
            return line
    return ''


def listings() -> list[documents.Listing]:
    """Those that `make run` must show."""
    return [listing for path in documents.pages()
            for listing in documents.listings(path)
            if listing.how == 'make run']


def unseen(lines: list[str]) -> list[str]:
    """What the pages show of `make run` and the LINES of a guest do not."""
    return [f'{listing.place}: {line}' for listing in listings()
            if (line := absent(listing.text, lines))]
