# SPDX-License-Identifier: GPL-2.0
"""Each listing of README and the pages is as it says that it is known to be.

Code is that of a file which the tests build. What make run shows is compared
by sessions.py; that an included file is there is for make docs to see.
"""

import os
import re

import demo
import documents
import env
import guest
import guests
import modules

_CODE = re.compile(r'^\s*(#include|#define|static |struct |fn |impl |use |let '
                   r'|pub |int |void )|[;{]\s*$', re.M)


def _is_built(name: str) -> bool:
    """Do the tests compile the file NAME, or run it?"""
    path = env.REPO / name
    if name.startswith('samples/'):
        return path.stem in (*demo.samples('rust'), *guests.IN_RUST)
    if path.is_relative_to(modules.EXAMPLES):
        return path.parent.name in modules.NAMES
    if path.suffix == '.rs':
        return name.startswith(('rust/', 'arch/'))
    kbuild = path.parent / 'Kbuild'
    return kbuild.is_file() and f'{path.stem}.o' in kbuild.read_text()


def _wrong_include(listing: documents.Listing) -> str:
    folder = (env.REPO / listing.page).parent
    name = os.path.relpath(folder / listing.include, env.REPO)
    return '' if _is_built(name) else f'{name}: no test builds it'


def _wrong_file(listing: documents.Listing, name: str) -> str:
    path = env.REPO / name
    if not path.is_file():
        return f'{name}: no such file'
    if not _is_built(name):
        return f'{name}: no test builds it'
    _licence, text = path.read_text().expandtabs().split('\n', 1)
    return '' if listing.text == text.strip('\n').split('\n') \
        else f'{name}: has another text'


def _is_test(test: str) -> bool:
    """Does a job of the guest report TEST, which is SUITE.CASE?"""
    suite, _, case = test.partition('.')
    jobs = (path.read_text() for path in guest.scripts())
    return any(re.search(rf'^\s*check {case}\b', part, re.M)
               for text in jobs for part in re.split(r'(?m)^\s*suite ', text)[1:]
               if part.startswith(f'{suite}\n'))


def _wrong(listing: documents.Listing) -> str:
    """What is wrong with a LISTING."""
    how, text = listing.how, '\n'.join(listing.text)
    kind, _, name = how.partition(' ')
    is_session = re.search(r'^\$ ', text, re.M)
    if listing.include:
        return _wrong_include(listing)
    if kind == 'file':
        return _wrong_file(listing, name)
    if how == 'make run':
        return '' if is_session else 'has no line that begins with "$ "'
    if how == 'make module':
        lines = [line.strip() for line in listing.text]
        shown = [modules.shown(name)[1] for name in modules.NAMES]
        return '' if lines in shown else 'no example of modules.py says this'
    if is_session or _CODE.search(text):
        return f'commands or code, but "{how}"' if how \
            else 'commands or code that nobody runs: include a file'
    if kind == 'test':
        return '' if _is_test(name) else f'{name}: no such test'
    return '' if how in ('commands', 'picture') else \
        'nothing says how it is known: see harness/documents.py'


def check() -> list[str]:
    """What is wrong with listings."""
    return [f'{listing.place}: {why}' for path in documents.pages()
            for listing in documents.listings(path)
            if (why := _wrong(listing))]
