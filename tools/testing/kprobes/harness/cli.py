# SPDX-License-Identifier: GPL-2.0
"""The commands of the Makefile, one function each."""

import contextlib
import os
import shutil
import signal
import sys

import checkkernel
import clients
import demo
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
import variables

_COMMANDS = {}
# Those whose last line counts, however they end.
_COUNTING = ('test', 'test-all', 'test-clients', 'check', 'check-kernel', 'host-test',
             'host-fuzz', 'host-bench', 'host-miri', 'kunit', 'selftest',
             'storm', 'coverage', 'docs')


def command(function):
    """FUNCTION answers to its name on the command line."""
    _COMMANDS[function.__name__.replace('_', '-')] = function
    return function


def _shown():
    """(architecture, implementation) for somebody to look at; says which."""
    arch = variables.arch()
    impl = variables.shown(arch)
    if impl == 'c' and not os.environ.get('IMPL'):
        progress.say(f'There is no Rust back end for {arch} yet: this boots '
                     'the stock C implementation (IMPL=c).')
    return arch, impl


@command
def run():
    """make run"""
    arch, impl = _shown()
    return demo.run(kernel.build(arch, impl), guests.job('run', impl))


@command
def shell():
    """make shell"""
    arch, impl = _shown()
    built = kernel.build(arch, impl)
    found = guests.samples(built)
    image = guest.initramfs(built, 'shell', guests.job('shell', impl), found)
    progress.say(f'Linux {built.release} ({arch}, IMPL={impl}); leave with '
                 + qemu.LEAVE)
    progress.summary()
    status = qemu.interactive(built, image, cmdline='kunit.enable=0')
    if status:
        raise env.Refusal('QEMU to run until the guest ends',
                          f'exit status {status}',
                          'see what it said above; without /dev/kvm, if it is '
                          'that, it emulates')
    return 0


def _finish(found):
    """Count what was FOUND; the exit status."""
    tally = results.Tally()
    tally.add(found)
    progress.summary()
    return tally.close()


@command
def test():
    """make test"""
    return maketest.run()


@command
def check_only():
    """make check"""
    return _finish(maketest.checks())


@command
def host_test():
    """make host-test"""
    return _finish(maketest.host_tests())


@command
def host_fuzz():
    """make host-fuzz"""
    return _finish(host.fuzz())


@command
def host_bench():
    """make host-bench"""
    return _finish(host.bench())


def miri_tests():
    """The tests under Miri, and which suites are missing if it ran."""
    found = host.miri()
    if any(one.status != 'skip' for one in found):
        found += results.vanished('miri', found)
    return found


@command
def host_miri():
    """make host-miri"""
    return _finish(miri_tests())


@command
def kernel_only():
    """make kernel"""
    arch = variables.arch()
    built = kernel.build(arch, variables.impl(arch))
    progress.say(f'{env.host(built.image)}')
    progress.summary()
    return 0


@command
def check_kernel():
    """make check-kernel"""
    return _finish(checkkernel.run(kernel.build(variables.arch(), 'rust')))


def _guest_part(part: str) -> int:
    arch = variables.arch()
    built = kernel.build(arch, variables.impl(arch))
    if test := os.environ.get('TEST'):
        return _finish(guests.chosen(built, part, test))
    paths = guests.modules(built)
    found = [leaf for _, boot in guests.boots(built, paths) for leaf in boot()]
    return _finish([leaf for leaf in found
                    if leaf.status == 'fail'
                    or results.of_kunit(leaf.name) == (part == 'kunit')]
                   + results.vanished(part, found, built.name))


@command
def kunit():
    """make kunit"""
    return _guest_part('kunit')


@command
def selftest():
    """make selftest"""
    return _guest_part('guest')


@command
def storm_only():
    """make storm"""
    arch = variables.arch()
    built = kernel.build(arch, variables.impl(arch))
    return _finish(guests.storm(built, guests.modules(built),
                                *variables.storm()))


@command
def module():
    """make module DIR=path"""
    arch, impl = _shown()
    modules.run(kernel.build(arch, impl), env.MODULE,
                os.environ.get('ARGS', ''))
    return 0


@command
def apply():
    """make apply KSRC=path"""
    return overlay.apply(remove=bool(os.environ.get('UNDO')))


@command
def series():
    """make series KSRC=path"""
    import series as maker
    return maker.run()


@command
def test_clients():
    """make test-clients"""
    impls = [variables.impl('x86_64')] if os.environ.get('IMPL') \
        else ['c', 'rust']
    words = os.environ.get('ARGS', '')
    found = clients.tests(impls, words)
    if len(impls) == 2 and not words:
        found += results.vanished('programs', found)
    return _finish(found)


@command
def test_all():
    """make test-all"""
    import matrix
    return matrix.run(sys.argv[2:])


def coverage_tests():
    """What becomes of probes on all instructions, and of some in a guest."""
    import coverage
    found = coverage.run()
    return found + results.vanished('coverage', found)


@command
def coverage():
    """make coverage"""
    return _finish(coverage_tests())


@command
def bench():
    """make bench"""
    import bench as table
    impls = [env.choice('IMPL', env.IMPLS, 'c')] \
        if os.environ.get('IMPL') else ['c', 'rust']
    status = table.bench(impls, quick=False)
    progress.summary()
    return status


@command
def bench_quick():
    """make bench-quick"""
    import bench as table
    return table.bench([env.choice('IMPL', env.IMPLS, 'rust')], quick=True)


@command
def docs():
    """make docs"""
    import docs as pages
    return _finish(pages.run(lambda: kernel.build(variables.arch(), 'rust')))


# Whoever works below env.WORK holds one of these. A kernel tree of the user's
# (KSRC=) has a folder of its own there, with the same locks.
_LOCKS = (('lock', 'commands'), ('check.lock', 'checks'),
          ('host.lock', 'host tests'), ('apply.lock', 'make apply'))


@contextlib.contextmanager
def _nobody_else():
    """Wait for all that work in this checkout's part of the cache.

    The one lock that this command has already is left out. Where nobody has
    worked with KSRC= before, somebody may begin to at any time.
    """
    with contextlib.ExitStack() as stack:
        for folder in (env.WORK, env.WORK / 'ksrc'):
            folder.mkdir(exist_ok=True)
            for name, whose in _LOCKS:
                if (folder, name) != (env.WORK, 'lock'):
                    stack.enter_context(procs.turn(
                        folder / name, f'this checkout ({whose})',
                        'make clean'))
        yield


@command
def clean():
    """make clean"""
    with _nobody_else():
        for name in ('build', 'coverage', 'docs', 'host', 'host-miri', 'logs',
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


def _turn(name):
    """One command at a time in one checkout; the next one waits."""
    # What needs no kernel tree goes on beside a build; it has locks of its
    # own for what two of them would both write.
    if name in ('check', 'host-test', 'apply'):
        return contextlib.nullcontext()
    return procs.turn(env.WORK / 'lock', 'this checkout', f'make {name}')


def _listen():
    """An interrupt and a request to end unwind the stack, once.

    A second one, from an impatient user or because both the terminal and the
    shell before us send it, must not cut the tidying up short. The handlers
    are set although they are Python's own, because a shell starts background
    processes deaf to interrupts.
    """
    def unwind(number, _):
        for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(other, signal.SIG_IGN)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(128 + number)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Under nohup the end of the terminal is none of our business.
        if number != signal.SIGHUP \
                or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, unwind)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def main():
    """Run the command that the Makefile named; the exit status."""
    _listen()
    if len(sys.argv) > 2 and sys.argv[1] == 'exec':
        os.execvp(sys.argv[2], sys.argv[2:])
    name = sys.argv[1] if len(sys.argv) > 1 else ''
    if name not in _COUNTING:
        return _command(name)
    ended = []

    def run():
        ended.append(_command(name))
        return []
    early = results.attempt(name, run)
    if early or ended == [2]:
        # It has not come to its own last line.
        progress.summary()
        print('0 passed, 1 failed, 0 skipped', flush=True)
        return 2
    return ended[0]


def _command(name):
    aliases = {'check': 'check-only', 'kernel': 'kernel-only',
               'storm': 'storm-only'}
    function = _COMMANDS.get(aliases.get(name, name))
    try:
        if not function:
            raise env.Refusal('one of ' + ', '.join(sorted(_COMMANDS)),
                              name or 'no command', 'make help')
        env.WORK.mkdir(parents=True, exist_ok=True)
        progress.handed_over()
        variables.check(name)
        with _turn(name):
            with procs.nothing_vanishes():
                status = function()
            # Where the command has not done so before its last line.
            progress.summary()
            return status
    except env.Refusal as refusal:
        refusal.show()
        return 2
    except KeyboardInterrupt:
        print('\nkprobes: interrupted; the same command goes on from here',
              file=sys.stderr)
        return 130
    except OSError as error:
        if error.errno == 28:
            procs.full_disk(env.WORK).show()
            return 2
        raise
    finally:
        # What another thread waits for: this one's own is ended already.
        procs.end_all()
