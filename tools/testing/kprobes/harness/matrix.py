# SPDX-License-Identifier: GPL-2.0
"""make test-all: the whole matrix, piece by piece.

Each piece leaves a result file that names the state of the repository it was
made from; a piece whose file is of this state is not run again, so that an
interrupted run goes on where it was. PIECE=name runs one piece afresh.
"""

import hashlib
import json
import os
import re
import time

import bench
import check
import checkkernel
import cli
import docs
import env
import fragments
import guests
import host
import kernel
import ktap
import maketest
import modules
import programs
import progress
import results
import series
import source
import toolchain

FOLDER = env.RESULTS / 'pieces'
# Configurations under which all tests run, and those that cannot run all.
_WHOLE = ('kasan', 'modversions', 'kcfi', 'up', 'lazy', 'rt', 'gcc',
          'labels', 'framepointer')
# Of those, the ones that run more than the others, by a plan of their own.
_MORE = ('kasan', 'kcfi')
_KUNIT = ('nomodules', 'noftrace', 'nodebugfs', 'nosysctl')
# What checkers call at each access or function. A hit must not: there may be a
# probe on it. To report what was found is something else, and what measures
# stacks is where no probe can be.
_CHECKERS = re.compile(
    r'__(asan_(load|store)|hwasan_(load|store)|tsan_|msan_'
    r'|sanitizer_cov_(?!stack_depth$))')
# One of the kernel's own tests is not fit for PREEMPT_RT, and warns there: see
# plan/known-rust-rt.txt. KUnit takes one pattern and no exceptions from it, but
# spinlock_irq_condvar is the only one with this q. The plan guards the others.
_CMDLINES = {'rt': 'kunit.filter_glob=*.*[!q]????????'}
# Suites that ask ORC's tables, which a kernel with frame pointers is without.
_WITHOUT = {'framepointer': ('.rust_kprobes_x86_detours_unwound.',
                             '.rust_kprobes_x86_starts.')}
# Which piece does what a command of the documents does, or which of the harness'
# own tests calls it.
RUN_BY = {'run': 'run-x86_64', 'test': 'rust-x86_64', 'check': 'ground',
          'host-test': 'ground', 'host-fuzz': 'host-fuzz',
          'host-bench': 'host-bench', 'host-miri': 'host-miri',
          'test-all': 'test_matrix.py', 'test-clients': 'clients',
          'storm': 'storm-x86_64', 'coverage': 'coverage',
          'bench': 'bench-x86_64', 'docs': 'docs', 'series': 'series',
          'module': 'examples-x86_64', 'apply': 'test_ksrc.py',
          'bench-quick': 'bench-quick-x86_64', 'selfcheck': 'itself',
          # What make test does of a kernel, in parts.
          'kernel': 'rust-x86_64', 'check-kernel': 'rust-x86_64',
          'kunit': 'rust-x86_64', 'selftest': 'rust-x86_64',
          # That it lists results; what it lists are those of make test.
          'plan': 'test_results.py',
          # Somebody has to type there: how that comes to the guest.
          'shell': 'test_small.py',
          'clean': 'test_turns.py', 'distclean': 'test_shell.py',
          'help': 'test_matrix.py',
          # A kernel's make M=.
          'modules': 'examples-x86_64'}
# Of random configurations, our objects are compiled, nothing else.
SEEDS = range(1, 11)


def _guest(arch, impl, flavour='test', **options):
    def run():
        built = kernel.build(arch, impl, flavour)
        found = checkkernel.run(built) if impl == 'rust' else []
        for _, boot in guests.boots(built, guests.modules(built), states=64,
                                    **options):
            found += boot()
        if flavour == 'kasan':
            found += guests.plant_tests(built)
        # Another flavour runs the same, but for the checkers it is without,
        # and for what is listed.
        return found + results.judge(results.vanished(
            f'{arch}-{impl}', found,
            lambda name: '.storm.' not in name and (
                flavour == 'test' or '.health.' not in name)
            and not any(suite in name for suite in _WITHOUT.get(flavour, ())),
            f'{arch}-{impl}-{flavour}' if flavour in _MORE else None),
            f'{impl}-{flavour}')
    return run


def _kunit(flavour, arch='x86_64', impl='rust', more=None):
    def run():
        built = kernel.build(arch, impl, flavour)
        found = checkkernel.run(built) if impl == 'rust' else []
        found += [leaf for leaf in guests.kunit_tests(built)
                  if not guests.of_others(leaf.name)]
        return found + results.vanished(
            f'{arch}-{impl}', found, lambda name:
            guests.of_kunit(name) or name.startswith('check-kernel.'),
            f'{arch}-{impl}-{more}' if more else None)
    return run


def _compiled(flavour):
    def run():
        called, warned = kernel.compile_ours('x86_64', flavour)
        found = sorted({one for one in called if _CHECKERS.match(one)})
        return [ktap.Result(f'x86_64.rust.{flavour}.compiles',
                            'fail' if warned else 'pass',
                            '; '.join(f'warning: {one}' for one in warned)),
                ktap.Result(f'x86_64.rust.{flavour}.calls_no_checker',
                            'fail' if found else 'pass', ', '.join(found))]
    return run


def _storm(seconds, flavour='test', piecewise=False, returns=False):
    def run():
        built = kernel.build('x86_64', 'rust', flavour)
        found = guests.storm(built, guests.modules(built), seconds, piecewise,
                             returns)
        return found + results.vanished(
            'x86_64-rust', found, lambda name: '.storm.' in name
            and not name.endswith(guests.not_of_storm(piecewise, returns)),
            'x86_64-rust-piecewise' if piecewise else None)
    return run


def _command(name, function):
    def run():
        status = function()
        return [ktap.Result(f'commands.{name}', 'fail' if status else 'pass',
                            f'exit status {status}' if status else '')]
    return run


def _ground():
    return maketest.checks() + maketest.host_tests()


def _examples():
    built = kernel.build('x86_64', 'rust')
    return modules.examples(built) + modules.alone(built)


def _clients(impl):
    def run():
        return maketest.clients(kernel.build('x86_64', impl))
    return run


def _programs():
    found = programs.tests(['c', 'rust'])
    return found + results.vanished('clients', found)


def _docs():
    return docs.run(lambda: kernel.build('x86_64', 'rust'))


def _series():
    # As make series FAST=1 does; each of the mails is a test.
    return [ktap.Result(f'series.{mail.stem}', 'pass')
            for mail in series.mails()]


def pieces():
    """{name: function}, in order."""
    found = {'ground': _ground}
    for arch in env.ARCHES:
        if arch in env.SUPPORTED:
            found[f'rust-{arch}'] = _guest(arch, 'rust')
    for arch in env.ARCHES:
        found[f'c-{arch}'] = _guest(arch, 'c')
    # Another instruction set: the kernel itself is Thumb code. Of modules C
    # does not even know there which functions are not to be probed.
    found['c-arm-thumb2'] = _kunit('thumb2', 'arm', 'c')
    for flavour in _WHOLE:
        found[f'rust-x86_64-{flavour}'] = _guest(
            'x86_64', 'rust', flavour, cmdline=_CMDLINES.get(flavour, ''))
    # Without a CPU that has it, FineIBT must be asked for.
    found['rust-x86_64-fineibt'] = _guest(
        'x86_64', 'rust', 'kcfi', cmdline='cfi=fineibt',
        says=r'Using \w*FineIBT')
    # Returns leave the flags alone, except on a CPU that gets call depth
    # tracking: only Intel's do.
    found['rust-x86_64-calldepth'] = _guest(
        'x86_64', 'rust', 'labels',
        cmdline='spectre_v2=retpoline retbleed=force,stuff',
        says='RETBleed: Mitigation: Stuffing',
        extra=('-cpu', 'max,vendor=GenuineIntel'))
    for flavour in _KUNIT:
        found[f'rust-x86_64-{flavour}'] = _kunit(flavour)
    for impl in env.IMPLS:
        # The kernel that has BTF, and examples that are tests.
        found[f'{impl}-x86_64-api'] = _kunit('clients', impl=impl, more='api')
    for seed in SEEDS:
        flavour = f'{fragments.RANDOM}{seed}'
        found[f'rust-x86_64-{flavour}'] = _compiled(flavour)
    found['examples-x86_64'] = _examples
    found['clients-x86_64'] = _clients('rust')
    found['clients-x86_64-c'] = _clients('c')
    found['clients'] = _programs
    found['run-x86_64'] = _command('run', cli.run)
    found['host-fuzz'] = host.fuzz
    found['host-bench'] = host.bench
    found['host-miri'] = cli.miri_tests
    found['bench-x86_64'] = _command(
        'bench', lambda: bench.bench(['c', 'rust'], quick=False))
    found['bench-quick-x86_64'] = _command('bench-quick', cli.bench_quick)
    found['coverage'] = cli.coverage_tests
    found['docs'] = _docs
    found['series'] = _series
    found['storm-x86_64'] = _storm(600)
    found['storm-x86_64-piecewise'] = _storm(600, piecewise=True)
    found['storm-x86_64-kasan'] = _storm(200, 'kasan')
    found['storm-x86_64-framepointer'] = _storm(60, 'framepointer',
                                                returns=True)
    return found


def state():
    """A digest of all that a piece's outcome depends on."""
    digest = hashlib.sha256(source.identity().encode())
    digest.update(toolchain.identity().encode())
    for path in check.tracked():
        digest.update(str(path.relative_to(env.REPO)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _kept(name, now):
    try:
        kept = json.loads((FOLDER / f'{name}.json').read_text())
    except (OSError, ValueError):
        return None
    if kept['state'] != now:
        return None
    found = [ktap.Result(*row) for row in kept['results']]
    # What failed may have failed for a full disk: it runs again.
    return None if any(one.status == 'fail' for one in found) else found


def _keep(name, now, found, seconds):
    FOLDER.mkdir(parents=True, exist_ok=True)
    part = FOLDER / f'{name}.part'
    part.write_text(json.dumps({
        'piece': name, 'state': now, 'seconds': round(seconds),
        'results': [[r.name, r.status, r.reason] for r in found]},
        indent=1))
    part.replace(FOLDER / f'{name}.json')


def run(_words):
    """Run what has no fresh result; the exit status."""
    every, wanted = pieces(), os.environ.get('PIECE')
    now, tally, rows = state(), results.Tally(), []
    for name, function in every.items():
        if wanted and name != wanted:
            continue
        found = None if wanted else _kept(name, now)
        if found is not None:
            progress.say(f'piece {name}: done before, from the same files')
        else:
            progress.say(f'\npiece {name}')
            started = time.monotonic()
            found = results.attempt(f'{name}.piece', function)
            _keep(name, now, found, time.monotonic() - started)
        tally.add(found)
        numbers = [sum(r.status == s for r in found)
                   for s in ('pass', 'fail', 'skip')]
        rows.append((name, *numbers))
    progress.say('\npiece                     passed failed skipped')
    for name, passed, failed, skipped in rows:
        progress.say(f'{name:25} {passed:6} {failed:6} {skipped:7}')
    progress.say(f'results per piece: {env.host(FOLDER)}')
    progress.summary()
    return tally.close()
