# SPDX-License-Identifier: GPL-2.0
"""README and the pages: commands that there are, listings that are right.

A listing says how it is known. Here it is compared with the file that it is;
documents.py compares the lines of `make run`, modules.py those of `make module`,
and make docs sees that an included file exists.
"""

import re
import shlex

import documents
import env
import matrix

_COMMON = env.KPROBES / 'toolchain/common.sh'


def targets() -> set[str]:
    """The commands that make takes."""
    text = (env.REPO / 'Makefile').read_text().replace('\\\n', ' ')
    return {'help', 'distclean', *re.findall(r'^COMMANDS := (.*)$', text, re.M)[0].split()}


def _command_problem(line: str) -> str:
    """The reason why LINE cannot be given, or ''."""
    if line.startswith('sudo apt-get install ') or not line.strip():
        return ''
    if not line.startswith('make '):
        return 'no command of ours (a listing of other things says what it ' \
            'is: see harness/documents.py)'
    given = shlex.split(line, comments=True)[1:]
    values = dict(word.split('=', 1) for word in given if '=' in word)
    asked = {word for word in given if '=' not in word}
    if folder := values.pop('M', ''):
        # The kernel's own make, which builds modules in a folder.
        is_built = (env.REPO / folder / 'Kbuild').exists()
        return '' if is_built and asked == {'modules'} else f'nothing is built in {folder}'
    variables = re.findall(r'^VARIABLES=\(([^)]*)\)', _COMMON.read_text(), re.M)[0].split()
    known = {'PIECE': ('name', *matrix.pieces()), 'IMPL': env.IMPLS, 'ARCH': (*env.ARCHES, 'all')}
    unknown = {*(asked - targets()), *(values.keys() - set(variables))}
    for name in known.keys() & values.keys():
        unknown |= {f'{name}={value}' for arch in env.ARCHES
                    if (value := values[name].replace('ARCH', arch))
                    not in known[name]}
    return ', '.join(f'there is no {word}' for word in sorted(unknown))


def _commands() -> list[str]:
    """The commands that cannot be given, in listings and between backquotes."""
    commands = []
    for path in documents.pages():
        commands += [(documents.name_of(path), ' '.join(command.split()))
                     for command in re.findall(r'`(make\s[^`]*)`',
                                               path.read_text())]
        commands += [(listing.place, line)
                     for listing in documents.listings(path)
                     if listing.how == 'commands' for line in listing.text]
    return [f'{place}: {command}: {reason}' for place, command in commands
            if (reason := _command_problem(command))]


def _listing_problem(listing: documents.Listing) -> str:
    """The reason why LISTING is not as it should be, or ''."""
    kind, _, name = listing.how.partition(' ')
    if kind == 'file':
        text = (env.REPO / name).read_text().expandtabs().strip('\n')
        return '' if text.split('\n')[-len(listing.text):] == listing.text \
            else f'{name}: ends with another text'
    return '' if listing.include or kind in ('make', 'test') \
        or listing.how in ('commands', 'picture') else \
        f'"{listing.how}" is not in harness/documents.py'


def check() -> list[str]:
    """The commands and listings that are wrong, with the reasons."""
    return _commands() + [
        f'{listing.place}: {reason}' for path in documents.pages()
        for listing in documents.listings(path)
        if (reason := _listing_problem(listing))]
