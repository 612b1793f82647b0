# SPDX-License-Identifier: GPL-2.0
"""README and the pages: commands that there are, listings that are right.

A listing is as the comment before it says; code comes from a file that the
tests build. sessions.py compares the lines of `make run`; make docs sees that
an included file exists.
"""

import re
import shlex

import documents
import env
import matrix
import modules

_COMMON = env.KPROBES / 'toolchain/common.sh'
JOBS = env.KPROBES / 'guest/jobs'


def targets() -> set[str]:
    """The commands that make takes."""
    text = (env.REPO / 'Makefile').read_text().replace('\\\n', ' ')
    return {'help', 'distclean',
            *re.search(r'^COMMANDS := (.*)$', text, re.M)[1].split()}


def _wrong_command(line: str) -> str:
    """The reason why LINE cannot be given, or ''."""
    if line.startswith('sudo apt-get install ') or not line.strip():
        return ''
    if not line.startswith('make '):
        return 'no command of ours'
    given = shlex.split(line, comments=True)[1:]
    values = dict(word.split('=', 1) for word in given if '=' in word)
    asked = {word for word in given if '=' not in word}
    if folder := values.pop('M', ''):
        # The kernel's own make, which builds modules in a folder.
        is_built = (env.REPO / folder / 'Kbuild').exists()
        return '' if is_built and asked == {'modules'} \
            else f'nothing is built in {folder}'
    variables = re.search(r'^VARIABLES=\(([^)]*)\)', _COMMON.read_text(),
                          re.M)[1].split()
    known = {'PIECE': ('name', *matrix.pieces()), 'IMPL': env.IMPLS,
             'ARCH': (*env.ARCHES, 'all')}
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
    return [f'{place}: {command}: {why}' for place, command in commands
            if (why := _wrong_command(command))]


def _is_built(name: str) -> bool:
    """Do the tests compile the file NAME?"""
    path = env.REPO / name
    kbuild = path.parent / 'Kbuild'
    # Some samples are the kernel's own.
    return name.startswith(('rust/', 'arch/', 'samples/')) \
        or kbuild.is_file() and f'{path.stem}.o' in kbuild.read_text()


def _wrong_file(listing: documents.Listing, name: str) -> str:
    """The reason why LISTING is not the file NAME, or ''."""
    if not _is_built(name) or not (env.REPO / name).is_file():
        return f'{name}: no test builds it'
    _licence, text = (env.REPO / name).read_text().expandtabs().split('\n', 1)
    return '' if listing.text == text.strip('\n').split('\n') \
        else f'{name}: has another text'


def _is_test(name: str) -> bool:
    """Does a job of the guest report NAME, which is SUITE.CASE?"""
    suite, _, case = name.partition('.')
    jobs = '\n'.join(path.read_text() for path in sorted(JOBS.glob('*.sh')))
    parts = re.split(r'^\s*suite ', jobs, flags=re.M)
    return any(re.search(rf'^\s*check {case}\b', part, re.M)
               for part in parts if part.startswith(f'{suite}\n'))


def _wrong(listing: documents.Listing) -> str:
    """The reason why LISTING is not as it should be, or ''."""
    kind, _, name = listing.how.partition(' ')
    if listing.include:
        included = str((env.REPO / listing.page).parent.joinpath(
            listing.include).resolve().relative_to(env.REPO.resolve()))
        return '' if _is_built(included) else f'{included}: no test builds it'
    if kind == 'file':
        return _wrong_file(listing, name)
    if kind == 'test':
        return '' if _is_test(name) else f'{name}: no such test'
    if listing.how == 'make run':
        return '' if any(line.startswith('$ ') for line in listing.text) \
            else 'has no line that begins with "$ "'
    if listing.how == 'make module':
        lines = [line.strip() for line in listing.text]
        shown = [modules.shown(name)[1] for name in modules.NAMES]
        return '' if lines in shown else 'no example of modules.py says this'
    return '' if listing.how in ('commands', 'picture') else \
        'nothing says how it is known: see harness/documents.py'


def check() -> list[str]:
    """The commands and listings that are wrong, with the reasons."""
    return _commands() + [
        f'{listing.place}: {why}' for path in documents.pages()
        for listing in documents.listings(path) if (why := _wrong(listing))]
