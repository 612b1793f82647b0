# SPDX-License-Identifier: GPL-2.0
"""Complaints of tools that are about our files, not the kernel's."""

import os
import re

import overlay

# rustc, rustdoc and clippy: the words, and in one of the next lines the place.
_WORDS = re.compile(r'(warning|error)(\[\S+\])?: .*')
_PLACE = re.compile(r' *--> (\S+?):(\d+):\d+$')


def ours(path: str, names: set[str]) -> str | None:
    """PATH as it is called in the repository, if it is one of NAMES there."""
    path = f'/{os.path.normpath(path)}'
    return next((name for name in names if path.endswith(f'/{name}')), None)


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
            if name := ours(match[1], known):
                complaints.append(f'{name}:{match[2]}: {words}')
            words = ''
    return complaints
