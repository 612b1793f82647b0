# SPDX-License-Identifier: GPL-2.0
"""README and the pages name no command that there is not."""

import re
import shlex

import documents
import env
import matrix

_COMMON = env.KPROBES / 'toolchain/common.sh'


def targets() -> set[str]:
    """What make can be asked for."""
    text = (env.REPO / 'Makefile').read_text().replace('\\\n', ' ')
    return {'help', 'distclean',
            *re.search(r'^COMMANDS := (.*)$', text, re.M)[1].split()}


def _variables() -> set[str]:
    names = re.search(r'^VARIABLES=\(([^)]*)\)', _COMMON.read_text(), re.M)
    return set(names[1].split())


def _wrong_value(name: str, value: str) -> str:
    """What is wrong with NAME=VALUE, of a variable of ours."""
    known = {'PIECE': ('name', *matrix.pieces()), 'ARCH': (*env.ARCHES, 'all'),
             'IMPL': env.IMPLS}.get(name)
    values = {value.replace('ARCH', arch) for arch in env.ARCHES}
    if known and value and not values <= set(known):
        return f'{name}={value}: one of {", ".join(known)}'
    return ''


def _make(command: str) -> str:
    """What is wrong with a call of make."""
    given = shlex.split(command, comments=True)[1:]
    values = dict(word.split('=', 1) for word in given if '=' in word)
    asked = {word for word in given if '=' not in word}
    if folder := values.pop('M', ''):
        # The kernel's own make, which builds modules in a folder.
        if asked != {'modules'} or not (env.REPO / folder / 'Kbuild').exists():
            return f'nothing is built in {folder}'
        asked = set()
    if unknown := asked - targets():
        return f'no such command: {", ".join(sorted(unknown))}'
    if unknown := set(values) - _variables():
        return f'no such variable: {", ".join(sorted(unknown))}'
    return '; '.join(filter(None, map(_wrong_value, values, values.values())))


def _install(command: str) -> str:
    """What is wrong with a call of apt-get: packages that nothing needs."""
    needed = _COMMON.read_text() + (env.REPO / '.ci/run').read_text()
    return ', '.join(f'{package}: nothing needs it'
                     for package in shlex.split(command)[3:]
                     if not re.search(rf'\b{re.escape(package)}\b', needed))


def _wrong_command(line: str) -> str:
    """What is wrong with a line of a listing."""
    if line.startswith('make '):
        return _make(line)
    if line.startswith('sudo apt-get install '):
        return _install(line)
    return 'no command of ours' if line.strip() else ''


def check() -> list[str]:
    """What is wrong with commands, in listings and between backquotes."""
    commands = []
    for path in documents.pages():
        commands += [(documents.name_of(path), ' '.join(command.split()))
                     for command in re.findall(r'`(make\s[^`]*)`',
                                               path.read_text())]
        commands += [(listing.place, line)
                     for listing in documents.listings(path)
                     if listing.how == 'commands' for line in listing.text]
    return [f'{place}: {command}: {why}' for place, command in commands
            if (why := _wrong_command(command))]
