# SPDX-License-Identifier: GPL-2.0
"""make check: what needs no kernel, in a minute."""

import hashlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import env
import guest
import host
import judges
import page_listings
import page_tables
import procs
import progress
from ktap import Result, listed, verdict

_SPDX = re.compile(r'SPDX-License-Identifier: GPL-2\.0')
# Files whose format has no room for a comment.
_BARE = re.compile(r'(^|/)(\.gitignore|Cargo\.lock)$|^COPYING$|\.(json|svg)$')
# The source of `core` that fits the compiler.
_CORE = '/usr/lib/rustlib/src/rust/library/core/src/lib.rs'


def tracked() -> list[Path]:
    """The repository's files: what git tracks or would, else all."""
    try:
        names = procs.output(['git', '-c', 'safe.directory=*', '-C', env.REPO,
                              'ls-files', '-co', '--exclude-standard', '-z'])
        paths = [env.REPO / name for name in names.split('\0') if name]
    except (subprocess.CalledProcessError, FileNotFoundError):
        paths = [p for p in env.REPO.rglob('*') if '.git' not in p.parts]
    return sorted(p for p in paths if p.is_file())


def _run(name: str, command: list, cwd: Path = env.REPO,
         extra: dict[str, str] | None = None) -> Result:
    """The result of a COMMAND, with what it says if it fails."""
    log = env.LOGS / f'check-{name}.log'
    status = procs.run(command, log, cwd=cwd, extra=extra)
    # The first line is the command, which may name a hundred files.
    lines = log.read_text(errors='replace').splitlines()[1:]
    return verdict(f'check.{name}', '\n'.join(
        lines[-30:] or [f'exit status {status}']) if status else '',
        env.host(log))


def _spdx(paths: list[Path]) -> Result:
    problems = []
    for path in paths:
        name = str(path.relative_to(env.REPO))
        head = path.read_bytes()[:4000].decode(errors='replace')
        if not _BARE.search(name) and not _SPDX.search('\n'.join(head.splitlines()[:40])):
            problems.append(f'{name}: no "SPDX-License-Identifier: GPL-2.0"')
    return listed('check.spdx', problems)


def _guest_scripts() -> list[Path]:
    """The scripts that busybox's shell runs."""
    return sorted([*guest.scripts(),
                   *(env.KPROBES / 'examples').rglob('*.sh'),
                   env.KPROBES / 'guest/init'])


def _client_cases() -> list[Path]:
    """The cases of make test-clients: a shell that ends at the first failure
    sources them behind another file."""
    return sorted((env.KPROBES / 'clients').glob('*/*.sh'))


def _shell_scripts(paths: list[Path]) -> list[Path]:
    """The other shell scripts."""
    def is_script(path: Path) -> bool:
        with open(path, 'rb') as data:
            return path.suffix == '.sh' or data.read(11).startswith((b'#!/bin/bash', b'#!/bin/sh'))
    others = {*_guest_scripts(), *_client_cases()}
    return [path for path in paths if path not in others and is_script(path)]


def _pure(machine: str, tables: dict[str, str]) -> Result:
    """The pure part, compiled for MACHINE without the standard library.

    `core` is compiled from its source, once for all checkouts. As nothing is
    linked, metadata with the code of all functions do.
    """
    stamp = hashlib.sha256(procs.output(['rustc', '-vV']).encode()).hexdigest()
    core = env.CACHE / f'core-{stamp[:12]}' / machine

    def compiled(crate: str, *options: str | Path) -> Result:
        return _run(f'pure-{machine}', [
            'rustc', '--target', machine + host.LINUX, '--crate-type', 'rlib',
            '-Cpanic=abort', '--crate-name', crate, *options],
            extra={**tables, 'RUSTC_BOOTSTRAP': '1'})
    with procs.alone('core'):
        for crate, *options in (
                ('core', _CORE, '--edition=2024', '-Zalways-encode-mir'),
                # Every crate depends on it; this one uses nothing of it.
                ('compiler_builtins', '/dev/null', '-Zcrate-attr=no_core',
                 '-Zcrate-attr=compiler_builtins',
                 '-Zcrate-attr=feature(no_core, compiler_builtins)')):
            if not (core / f'lib{crate}.rmeta').exists():
                made = compiled(crate, *options, '--cap-lints=allow',
                                '--emit=metadata', '--out-dir', core)
                if made.status == 'fail':
                    return made
    # What is private becomes no code otherwise.
    return compiled('kprobes_host', host.CRATE / 'src/lib.rs', '--edition=2021',
                    '-Dwarnings', '-Clink-dead-code', '-L', core,
                    '--emit=obj', '-o', env.WORK / f'pure-{machine}.o')


def _checks() -> Iterator[Result]:
    """Each check, when it is asked for."""
    paths, kprobes = tracked(), env.KPROBES
    rust = [path for path in paths if path.suffix == '.rs']
    python = [path for path in paths if path.suffix == '.py']
    yield _spdx(paths)
    yield _run('rustfmt', ['rustfmt', '--check', '--edition', '2021',
                           '--config', 'newline_style=Unix', *rust])
    host.fetch()
    tables = judges.tables()
    yield _run('clippy', ['cargo', 'clippy', '--offline', '--locked',
                          '--workspace', '--all-targets', '--', '-D',
                          'warnings', '-D', 'clippy::undocumented_unsafe_blocks'],
               host.CRATE,
               {**host.cargo_environment(), **tables,
                # Host tests, which may run at the same time, lock theirs.
                'CARGO_TARGET_DIR': str(env.WORK / 'clippy')})
    for machine in host.OTHERS:
        yield _pure(machine, tables)
    yield _run('layers', ['python3', '-B', kprobes / 'check-layers.py'])
    yield _run('walks', ['python3', '-B', kprobes / 'check-walks.py'])
    yield _run('unsafe', ['python3', kprobes / 'check-unsafe.py'])
    progress.say(procs.tail(env.LOGS / 'check-unsafe.log', 2))
    yield _run('shell', ['shellcheck', '-x', '-P', env.REPO, *_shell_scripts(paths)])
    yield _run('guest-shell', [
        'shellcheck', '-s', 'dash', '-e',
        'SC1091,SC2154,SC2034,SC2086,SC2016,SC2164', *_guest_scripts()])
    yield _run('clients-shell', [
        'shellcheck', '-s', 'bash', '-e',
        'SC2154,SC2034,SC2086,SC2016,SC2164,SC2103,SC2094,SC2001',
        *_client_cases()])
    yield _run('pyflakes', ['python3', '-m', 'pyflakes', *python])
    yield _run('pycodestyle', ['python3', '-m', 'pycodestyle', '--max-line-length=100', *python])
    yield listed('check.documents.listings', page_listings.check())
    yield listed('check.documents.tables', page_tables.check())


def run() -> list[Result]:
    """All checks, as results."""
    # Two at once would write the same logs.
    with procs.turn(env.WORK / 'check.lock', 'this checkout', 'checks'):
        return _run_all()


def _run_all() -> list[Result]:
    results = []
    with progress.Stage('check', 3) as stage:
        stage.expected = 15
        for result in _checks():
            results.append(result)
            stage.tick(result.name)
    return results
