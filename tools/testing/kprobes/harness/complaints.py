# SPDX-License-Identifier: GPL-2.0
"""Complaints of tools that are about our files, not the kernel's."""

import os
import re

import overlay

# rustc, rustdoc and clippy: the words, and in one of the next lines the place.
_WORDS = re.compile(r'(warning|error)(\[\S+\])?: .*')
_PLACE = re.compile(r' *--> (\S+?):(\d+):\d+$')


def names() -> set[str]:
    """The files of ours that a page may be made of."""
    return {str(path) for path in overlay.files()}


def of_rust(text: str, known: set[str]) -> list[str]:
    """The complaints in TEXT, of rustc or rustdoc, about the files KNOWN."""
    complaints, words = [], ''
    for line in text.splitlines():
        if _WORDS.match(line):
            words = line
        elif (match := _PLACE.match(line)) and words:
            # With the path as it is called in the repository.
            path = f'/{os.path.normpath(match[1])}'
            complaints += [f'{name}:{match[2]}: {words}'
                           for name in known if path.endswith(f'/{name}')][:1]
            words = ''
    return complaints
