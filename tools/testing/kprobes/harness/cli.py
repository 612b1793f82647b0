# SPDX-License-Identifier: GPL-2.0
"""The commands of the Makefile."""

import contextlib
import functools
import os
import shutil
import signal
import sys
from types import FrameType
from typing import NoReturn
from collections.abc import Callable, Iterator

import bench as cost
import checkkernel
import clients
import coverage
import demo
import docs as pages
import env
import guest
import guests
import host
import kernel
import maketest
import modules
import overlay
import procs
import progress
import qemu
import results
import series
import variables
from ktap import Result


def _kernel(impl: str = '') -> kernel.Built:
    """The kernel that is asked for."""
    arch = variables.arch()
    return kernel.build(arch, impl or variables.impl(arch))


def _arch_and_impl() -> tuple[str, str]:
    """(architecture, implementation) for somebody to look at; says which."""
    arch = variables.arch()
    impl = variables.shown(arch)
    if impl == 'c' and not os.environ.get('IMPL'):
        progress.say(f'There is no Rust back end for {arch} yet: this boots '
                     'the stock C implementation (IMPL=c).')
    return arch, impl


def run(arch: str = '') -> int:
    """make run, with ours on ARCH or as the command line says"""
    arch, impl = (arch, 'rust') if arch else _arch_and_impl()
    return demo.run(kernel.build(arch, impl), guests.job('run', impl))


def _shell() -> int:
    arch, impl = _arch_and_impl()
    built = kernel.build(arch, impl)
    image = guest.initramfs(built, 'shell', guests.job('shell', impl), guests.samples(built))
    progress.say(f'Linux {built.release} ({arch}, IMPL={impl}); leave with ' + qemu.LEAVE)
    progress.summary()
    status = qemu.interactive(built, image, cmdline='kunit.enable=0')
    if status:
        raise env.Refusal('QEMU to run until the guest ends',
                          f'exit status {status}',
                          'see what it said above; without /dev/kvm, if it is '
                          'that, it emulates')
    return 0


def _kernel_only() -> int:
    progress.say(env.host(_kernel().image))
    return 0


def _module() -> int:
    modules.run(kernel.build(*_arch_and_impl()), env.MODULE, os.environ.get('ARGS', ''))
    return 0


def bench() -> int:
    """make bench"""
    impls = [env.choice('IMPL', env.IMPLS, 'c')] if os.environ.get('IMPL') else ['c', 'rust']
    return cost.bench(impls, quick=False)


def bench_quick() -> int:
    """make bench-quick"""
    return cost.bench([env.choice('IMPL', env.IMPLS, 'rust')], quick=True)


def _test_all() -> int:
    import matrix
    return matrix.run()


def client_tests(arch: str = '') -> list[Result]:
    """The tests of make test-clients, on ARCH or that of the command line."""
    arch = arch or variables.arch()
    impls = [variables.impl(arch)] if os.environ.get('IMPL') else ['c', 'rust']
    words = os.environ.get('ARGS', '')
    outcomes = clients.tests(arch, impls, words)
    if len(impls) == 2 and not words:
        outcomes += results.vanished('programs', outcomes, arch)
    return outcomes


def _guest_tests(part: str) -> list[Result]:
    built = _kernel()
    if test := os.environ.get('TEST'):
        return guests.chosen(built, part, test)
    boots = [('kunit', lambda: guests.kunit_tests(built))] if part == 'kunit' \
        else guests.boots(built, guests.modules(built))
    outcomes = [outcome for _, boot in boots for outcome in boot()]
    return [outcome for outcome in outcomes if outcome.status == 'fail'
            or results.of_kunit(outcome.name) == (part == 'kunit')
            ] + results.vanished(part, outcomes, built.name)


def _storm() -> list[Result]:
    built = _kernel()
    return guests.storm(built, guests.modules(built), *variables.storm())


# Each command that tests, and the function that returns its results.
_TESTS: dict[str, Callable[[], list[Result]]] = {
    'check': lambda: maketest.checks(),
    'host-test': lambda: maketest.host_tests(),
    'host-fuzz': host.fuzz, 'host-bench': host.bench,
    'host-miri': host.miri, 'storm': _storm, 'coverage': coverage.run,
    'kunit': lambda: _guest_tests('kunit'),
    'selftest': lambda: _guest_tests('guest'),
    'check-kernel': lambda: checkkernel.run(_kernel('rust')),
    'docs': lambda: pages.run(lambda: _kernel('rust')),
    'test-clients': client_tests}


def tests(name: str) -> int:
    """Count what the command NAME finds; the exit status."""
    tally = results.Tally()
    tally.add(_TESTS[name](), f'make {name} ARCH={variables.arch()}'
              if name == 'test-clients' else '')
    progress.summary()
    return tally.close()


# Whoever works below env.WORK holds one of these. A kernel tree of the user's
# (KSRC=) has a folder of its own there, with the same locks.
_LOCKS = (('lock', 'commands'), ('check.lock', 'checks'),
          ('host.lock', 'host tests'), ('apply.lock', 'make apply'))


@contextlib.contextmanager
def _all_locks() -> Iterator[None]:
    """Wait for all that work in this checkout's part of the cache.

    The one lock that this command has already is left out. Where nobody has
    worked with KSRC= before, somebody may begin to at any time.
    """
    with contextlib.ExitStack() as stack:
        for folder in (env.WORK, env.WORK / 'ksrc'):
            folder.mkdir(exist_ok=True)
            for name, holders in _LOCKS:
                if (folder, name) != (env.WORK, 'lock'):
                    stack.enter_context(procs.turn(
                        folder / name, f'this checkout ({holders})',
                        'make clean'))
        yield


def clean() -> int:
    """make clean"""
    with _all_locks():
        for name in ('build', 'clippy', 'coverage', 'docs', 'host', 'host-miri', 'logs',
                     'modules', 'series', 'rustdoc', 'stap',
                     'bpf'):
            shutil.rmtree(env.WORK / name, ignore_errors=True)
        # Not the locks there: who waits for one must get the same file.
        for path in (env.WORK / 'ksrc').glob('*'):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif path.suffix != '.lock' and path.name != 'lock':
                path.unlink()
    progress.say(f'objects below {env.host(env.WORK)} deleted; the toolchain '
                 'and the kernel source stay (make distclean drops them too)')
    return 0


def _turn(name: str) -> contextlib.AbstractContextManager[None]:
    """One command at a time in one checkout; the next one waits."""
    # Commands that need no kernel tree run beside a build. They lock what
    # two of them would both write.
    if name in ('check', 'host-test', 'apply'):
        return contextlib.nullcontext()
    return procs.turn(env.WORK / 'lock', 'this checkout', f'make {name}')


def end(status: int) -> NoReturn:
    """End with STATUS, whatever other threads and programs still do.

    This is process 1 of its process namespace: the kernel ends the rest.
    """
    sys.stdout.flush()
    os._exit(status)


def _catch_signals() -> None:
    """Have each signal that asks for an end bring it.

    A shell starts background processes with SIGINT ignored, and process 1 of
    a namespace ignores each signal without a handler.
    """
    def interrupted(number: int, _: FrameType | None) -> None:
        if number == signal.SIGINT:
            os.write(2, b'\nkprobes: interrupted; the same command goes on from here\n')
        os._exit(128 + number)
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGQUIT:
        signal.signal(number, interrupted)
    # nohup has the end of the terminal ignored.
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, interrupted)


# All commands; each returns its exit status. maketest leads here and is looked
# into late.
_COMMANDS: dict[str, Callable[[], int]] = {
    **{name: functools.partial(tests, name) for name in _TESTS},
    'test': lambda: maketest.run(), 'test-all': _test_all, 'run': run,
    'shell': _shell, 'kernel': _kernel_only, 'module': _module,
    'bench': bench, 'bench-quick': bench_quick, 'series': series.run,
    'clean': clean,
    'apply': lambda: overlay.apply(remove=bool(os.environ.get('UNDO')))}
# Commands that end with a line of counts, however they end.
_COUNTING = ('test', 'test-all', *_TESTS)


def main() -> int:
    """Run the command that the Makefile named; the exit status."""
    _catch_signals()
    if len(sys.argv) > 2 and sys.argv[1] == 'exec':
        os.execvp(sys.argv[2], sys.argv[2:])
    name = sys.argv[1] if len(sys.argv) > 1 else ''
    if name not in _COUNTING:
        return _command(name)
    statuses: list[int] = []

    def run_command() -> list[Result]:
        statuses.append(_command(name))
        return []
    early = results.attempt(name, run_command)
    if early or statuses == [2]:
        # It has not come to its own last line.
        progress.summary()
        print('0 passed, 1 failed, 0 skipped', flush=True)
        return 2
    return statuses[0]


def _command(name: str) -> int:
    try:
        if name not in _COMMANDS:
            raise env.Refusal('one of ' + ', '.join(sorted(_COMMANDS)),
                              name or 'no command', 'make help')
        env.WORK.mkdir(parents=True, exist_ok=True)
        progress.handed_over()
        variables.check(name)
        with _turn(name):
            status = _COMMANDS[name]()
            # Prints nothing if the command has done so before its last line.
            progress.summary()
            return status
    except env.Refusal as refusal:
        refusal.show()
        return 2
    except OSError as error:
        if error.errno == 28:
            procs.full_disk(env.WORK).show()
            return 2
        raise
