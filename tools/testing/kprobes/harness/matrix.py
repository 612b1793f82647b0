# SPDX-License-Identifier: GPL-2.0
"""make test-all: the whole matrix, piece by piece.

Each piece leaves a result file that names the state of the repository it was
made from; a piece whose file is of this state is not run again, so that an
interrupted run goes on where it was. PIECE=name runs one piece afresh.
"""

import functools
import hashlib
import os
import re
import time
from collections.abc import Callable

import arches
import bench
import check
import checkkernel
import cli
import coverage
import docs
import env
import guests
import host
import kernel
import maketest
import modules
import progress
import results
import series
import source
import toolchain
from arches import Piece
from ktap import Result, logged, verdict

FOLDER = env.RESULTS / 'pieces'
# Functions of checkers that are called at each access or function. A hit must
# not call them: there may be a probe on them. To report an error is something
# else, and the function that measures stacks is where no probe can be.
_CHECKERS = re.compile(
    r'__(asan_(load|store)|hwasan_(load|store)|tsan_|msan_'
    r'|sanitizer_cov_(?!stack_depth$))')


def _whole(arch: str, impl: str, piece: Piece) -> list[Result]:
    """All that make test runs on a kernel, its storm apart."""
    built = kernel.build(arch, impl, piece.flavour)
    outcomes = checkkernel.run(built) if impl == 'rust' else []
    if piece.kind == 'kunit':
        # A kernel that can run no other tests, or need not.
        outcomes += [outcome for outcome in guests.kunit_tests(built)
                     if not guests.FOREIGN_EXAMPLES.search(outcome.name)]
        return outcomes + results.vanished('check-kernel kunit', outcomes, built.name)
    for _, boot in guests.boots(
            built, guests.modules(built), states=piece.states, cmdline=piece.cmdline,
            says=piece.says, extra=piece.extra):
        outcomes += boot()
    return outcomes + results.vanished('check-kernel kunit guest', outcomes, built.name)


def _compiled(arch: str, impl: str, piece: Piece) -> list[Result]:
    """Our objects alone, in a configuration made at random."""
    called, warned = kernel.compile_ours(arch, piece.flavour)
    checkers = sorted({name for name in called if _CHECKERS.match(name)})
    prefix = f'{arch}.{impl}.{piece.flavour}'
    outcomes = [verdict(f'{prefix}.compiles', '; '.join(f'warning: {place}' for place in warned)),
                verdict(f'{prefix}.calls_no_checker', ', '.join(checkers))]
    return logged(outcomes, env.LOGS / f'{arch}-{piece.flavour}.log')


def _storm(arch: str, impl: str, piece: Piece) -> list[Result]:
    """A long storm."""
    built = kernel.build(arch, impl, piece.flavour)
    outcomes = guests.storm(built, guests.modules(built), piece.seconds, piece.piecewise,
                            piece.returns, piece.cmdline, piece.says, piece.extra)
    part = 'storm-piecewise' if piece.piecewise else 'storm-returns' if piece.returns else 'storm'
    return outcomes + results.vanished(part, outcomes, built.name)


_KINDS = {'whole': _whole, 'kunit': _whole, 'compiled': _compiled,
          'storm': _storm, 'clients': lambda arch, impl, _:
          maketest.clients(kernel.build(arch, impl))}


def _command(name: str, function: Callable[[], int]) -> Callable[[], list[Result]]:
    def run() -> list[Result]:
        status = function()
        return [verdict(f'commands.{name}', f'exit status {status}' if status else '',
                        env.host(env.LOGS))]
    return run


def _kernel() -> kernel.Built:
    return kernel.build(arches.NAMES[0], 'rust')


def pieces() -> dict[str, Callable[[], list[Result]]]:
    """{name: function}, in order; those of an architecture are in its record."""
    first = arches.NAMES[0]
    every: dict[str, Callable[[], list[Result]]] = {
        'ground': lambda: maketest.checks() + maketest.host_tests()}
    for arch in arches.NAMES:
        machine = arches.of(arch)
        for impl in env.IMPLS if machine.back_end else ('c',):
            every[f'{impl}-{arch}'] = functools.partial(_whole, arch, impl, Piece(''))
        for piece in machine.pieces:
            every[f'{piece.impl}-{arch}-{piece.name}'] = functools.partial(
                _KINDS[piece.kind], arch, piece.impl, piece)
    return {**every,
            f'examples-{first}': lambda: (
                modules.examples(built := _kernel()) + modules.alone(built)),
            **{f'clients-{arch}': functools.partial(cli.client_tests, arch)
               for arch in env.SUPPORTED},
            **{f'run-{arch}': _command(f'run-{arch}', functools.partial(cli.run, arch))
               for arch in env.SUPPORTED},
            'host-fuzz': host.fuzz, 'host-bench': host.bench,
            'host-miri': host.miri,
            f'bench-{first}': _command(
                'bench', lambda: bench.bench(['c', 'rust'], quick=False)),
            f'bench-quick-{first}': _command('bench-quick', cli.bench_quick),
            'coverage': coverage.run, 'docs': lambda: docs.run(_kernel),
            **{f'coverage-{arch}': functools.partial(coverage.run, arch)
               for arch in env.SUPPORTED[1:]},
            # As make series FAST=1 does; each of the mails is a test.
            'series': lambda: [Result(f'series.{mail.stem}', 'pass')
                               for mail in series.mails()]}


def state() -> str:
    """A digest of all that a piece's outcome depends on."""
    digest = hashlib.sha256(source.identity().encode())
    digest.update(toolchain.identity().encode())
    for path in check.tracked():
        digest.update(str(path.relative_to(env.REPO)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _kept(name: str, now: str) -> list[Result] | None:
    kept = env.read_json(FOLDER / f'{name}.json')
    if not kept or kept['state'] != now:
        return None
    outcomes = [Result(*row) for row in kept['results']]
    # A failed piece runs again: it may have failed for a full disk.
    return None if any(outcome.status == 'fail' for outcome in outcomes) else outcomes


def run() -> int:
    """Run the pieces that have no fresh result; the exit status."""
    every, wanted = pieces(), os.environ.get('PIECE')
    now, tally, rows = state(), results.Tally(), []
    for name, function in every.items():
        if wanted and name != wanted:
            continue
        outcomes = None if wanted else _kept(name, now)
        if outcomes is not None:
            progress.say(f'piece {name}: done before, from the same files')
        else:
            progress.say(f'\npiece {name}')
            started = time.monotonic()
            outcomes = results.attempt(f'{name}.piece', function)
            env.write_json(FOLDER / f'{name}.json', {
                'piece': name, 'state': now, 'seconds': round(time.monotonic() - started),
                'results': [[r.name, r.status, r.reason] for r in outcomes]})
        tally.add(outcomes, f'make test-all PIECE={name}')
        numbers = [sum(r.status == s for r in outcomes) for s in ('pass', 'fail', 'skip')]
        rows.append((name, *numbers))
    progress.say('\npiece                     passed failed skipped')
    for row in rows:
        progress.say('{:25} {:6} {:6} {:7}'.format(*row))
    progress.say(f'results per piece: {env.host(FOLDER)}')
    progress.summary()
    return tally.close()
