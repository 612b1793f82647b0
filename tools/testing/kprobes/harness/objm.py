# SPDX-License-Identifier: GPL-2.0
"""What a module's Kbuild names, and whether it is there: before anything is built.

Only what stands there by its name is looked at. What a variable holds, what
another file brings and what a rule makes is for the build to tell.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import env

_SOURCES = ('c', 'rs', 'S')
_ASSIGNED = re.compile(r'\s*([\w.$()-]+)\s*(?:[:?+]?=)(.*)')
_NAME = re.compile(r'([\w.-]+)\.o')
# What may bring more than is seen here.
_MORE = re.compile(r'^\s*-?(?:include|subdir-)|\$\((?:eval|call)\b|\bobj-', re.M)


def _words(text: str) -> dict[str, list[str]]:
    """The words that each variable of a makefile is given."""
    words = {}
    for line in text.replace('\\\n', ' ').splitlines():
        if match := _ASSIGNED.match(line.split('#')[0]):
            words.setdefault(match[1], []).extend(match[2].split())
    return words


def _objects(words: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """(what names it, its name): each object that obj-m is made of."""
    for name in (match[1] for one in words.get('obj-m', ())
                 if (match := _NAME.fullmatch(one))):
        parts = [part for kind in ('objs', 'y', 'm')
                 for part in words.get(f'{name}-{kind}', ())]
        if not parts and not any(one.startswith(f'{name}-$') for one in words):
            yield f'obj-m names {name}.o', name
        for match in filter(None, map(_NAME.fullmatch, parts)):
            yield f'{name}.o is of {match[1]}.o', match[1]


def _is_made(name: str, text: str) -> re.Match | None:
    """May a rule make it, or its source?"""
    return re.search(rf'(?<![\w.-])(?:{re.escape(name)}|%)\.(?:o|c|rs|S)\b'
                     r'[^=\n]*:(?!=)', text)


def check(folder: Path) -> None:
    """Refuse a FOLDER whose Kbuild names what is not there."""
    path = next(folder / name for name in ('Kbuild', 'Makefile')
                if (folder / name).is_file())
    text = path.read_text(errors='replace')
    where = env.host(path)
    if not _MORE.search(text):
        raise env.Refusal(f'a line obj-m := name.o in {where}',
                          'no obj-m there',
                          f'add one{_for(_there(folder))}')
    for says, name in _objects(_words(text)):
        wanted = [f'{name}.{kind}' for kind in _SOURCES]
        if any((folder / one).exists() or (folder / f'{one}_shipped').exists()
               for one in (*wanted, f'{name}.o')) or _is_made(name, text):
            continue
        there = _there(folder)
        raise env.Refusal(
            f'{" or ".join(wanted)} in {env.host(folder)}: {says}',
            f'none of them (there is {", ".join(there)})' if there
            else 'none of them, nor any other source',
            f'write in {where} what the file is called{_for(there)}, or '
            'call the file so')


def _there(folder: Path) -> list[str]:
    """What of FOLDER a module could be made of."""
    return sorted(path.name for path in folder.iterdir()
                  if path.suffix[1:] in _SOURCES
                  and not path.name.endswith('.mod.c'))


def _for(there: list[str]) -> str:
    return f' (obj-m := {there[0].rpartition(".")[0]}.o)' if there else ''
