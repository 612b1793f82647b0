# SPDX-License-Identifier: GPL-2.0
"""make check: what needs no kernel, in under half a minute."""

import re
import subprocess

import documents
import env
import host
import procs
import progress
from ktap import Result

_SPDX = re.compile(r'SPDX-License-Identifier: GPL-2\.0')
# Files whose format has no room for a comment.
_BARE = re.compile(r'(^|/)(\.gitignore|Cargo\.lock)$|^COPYING$|\.(json|svg)$')


def tracked():
    """The repository's files: what git tracks or would, else all."""
    try:
        names = procs.output(['git', '-c', 'safe.directory=*', '-C', env.REPO,
                              'ls-files', '-co', '--exclude-standard', '-z'])
        paths = [env.REPO / name for name in names.split('\0') if name]
    except (subprocess.CalledProcessError, FileNotFoundError):
        paths = [p for p in env.REPO.rglob('*') if '.git' not in p.parts]
    return sorted(p for p in paths if p.is_file())


def _run(name, command, **options):
    log = env.LOGS / f'check-{name}.log'
    status = procs.run(command, log, **options)
    if status:
        return Result(f'check.{name}', 'fail',
                      procs.tail(log, 30) or f'exit status {status}')
    return Result(f'check.{name}', 'pass')


def _spdx(paths):
    missing = []
    for path in paths:
        name = str(path.relative_to(env.REPO))
        if _BARE.search(name):
            continue
        head = path.read_bytes()[:4000].decode(errors='replace')
        if not _SPDX.search('\n'.join(head.splitlines()[:40])):
            missing.append(name)
    return Result('check.spdx', 'fail' if missing else 'pass',
                  'no "SPDX-License-Identifier: GPL-2.0" in '
                  + ', '.join(missing) if missing else '')


# What checkpatch.pl allows, comments included, which rustfmt leaves alone.
_WIDTH = 100
_ONLY_A_STRING = re.compile(r'\s*(\w+\()?".*"(,|\);)?$')


def _wide(paths):
    found = []
    for path in paths:
        if path.suffix not in ('.rs', '.c', '.h', '.S'):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if len(line.expandtabs()) > _WIDTH \
                    and not _ONLY_A_STRING.match(line):
                found.append(f'{path.relative_to(env.REPO)}:{number}')
    return Result('check.width', 'fail' if found else 'pass',
                  f'more than {_WIDTH} columns (checkpatch.pl refuses them): '
                  + ', '.join(found) if found else '')


def _of_guest():
    """What busybox's shell runs."""
    return [*(env.KPROBES / 'guest').rglob('*.sh'),
            *(env.KPROBES / 'examples').rglob('*.sh'),
            env.KPROBES / 'guest/init']


def _of_clients():
    """The cases of make test-clients: a shell that ends at the first failure
    sources them behind another file."""
    return sorted((env.KPROBES / 'clients').glob('*/*.sh'))


def _shell(paths):
    found, others = [], [*_of_guest(), *_of_clients()]
    for path in paths:
        if path in others:
            continue    # checked as what they are
        with open(path, 'rb') as data:
            head = data.read(40)
        if path.suffix == '.sh' or head.startswith((b'#!/bin/bash',
                                                    b'#!/bin/sh')):
            found.append(path)
    return found


def run():
    """All checks, as results."""
    # Two at once would write the same logs.
    with procs.turn(env.WORK / 'check.lock', 'this checkout', 'checks'):
        return _all()


def _all():
    paths = tracked()
    rust = [p for p in paths if p.suffix == '.rs']
    python = [p for p in paths if p.suffix == '.py']
    kprobes, found = env.KPROBES, []
    with progress.Stage('check', 0.5) as stage:
        def add(one):
            found.append(one)
            stage.tick(one.name)
        stage.expected = 17
        add(_spdx(paths))
        add(_wide(paths))
        add(_run('rustfmt', ['rustfmt', '--check', '--edition', '2021',
                             '--config', 'newline_style=Unix', *rust]))
        host.fetch()
        add(_run('clippy', ['cargo', 'clippy', '--offline', '--locked',
                            '--workspace', '--all-targets', '--',
                            '-D', 'warnings'],
                 cwd=host.CRATE, extra=host.cargo_environment()))
        add(_run('layers', [kprobes / 'check-layers.sh'], cwd=env.REPO))
        add(_run('opcodes', ['python3', '-B', env.REPO /
                             'arch/x86/kprobes/isa/opcodes.py', '--check']))
        add(_run('unsafe', ['python3', kprobes / 'check-unsafe.py'],
                 cwd=env.REPO))
        progress.say(procs.tail(env.LOGS / 'check-unsafe.log', 30)
                     if env.VERBOSE else procs.tail(
                         env.LOGS / 'check-unsafe.log', 1))
        add(_run('shell', ['shellcheck', '-x', '-P', env.REPO,
                           *_shell(paths)], cwd=env.REPO))
        add(_run('guest-shell', ['shellcheck', '-s', 'dash', '-e',
                                 'SC1091,SC2154,SC2034,SC2086,SC2016,SC2164',
                                 *sorted(_of_guest())], cwd=env.REPO))
        add(_run('clients-shell', ['shellcheck', '-s', 'bash', '-e',
                                   'SC2154,SC2034,SC2086,SC2016,SC2164,SC2103,'
                                   'SC2094,SC2001', *_of_clients()], cwd=env.REPO))
        add(_run('pyflakes', ['python3', '-m', 'pyflakes', *python]))
        add(_run('pycodestyle', ['python3', '-m', 'pycodestyle',
                                 '--max-line-length=100', *python]))
        for one in documents.run(paths):
            add(one)
    return found
