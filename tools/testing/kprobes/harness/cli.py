# SPDX-License-Identifier: GPL-2.0
"""The commands of the Makefile, one function each."""

import contextlib
import os
import re
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

import check
import checkkernel
import clients
import crashes
import demo
import env
import guest
import host
import kernel
import ktap
import modules
import overlay
import plants
import procs
import progress
import programs
import qemu
import results
import toolchain
import variables

_COMMANDS = {}
# Those whose last line counts, however they end.
_COUNTING = ('test', 'test-all', 'test-clients', 'check', 'check-kernel', 'host-test',
             'host-fuzz', 'host-bench', 'host-miri', 'kunit', 'selftest',
             'storm', 'coverage', 'docs', 'selfcheck')


def command(function):
    """FUNCTION answers to its name on the command line."""
    _COMMANDS[function.__name__.replace('_', '-')] = function
    return function


def _job(name, impl, *before):
    """The shell text of a job, and of those to run before it."""
    text = ''.join((env.KPROBES / 'guest/jobs' / f'{one}.sh').read_text()
                   for one in (*before, name))
    return f'IMPL={impl}\n{text}'


# Samples that no demonstration loads.
IN_RUST = ('rust_minimal', 'rust_kprobe', 'rust_kretprobe',
           'rust_kprobe_batch', 'rust_kprobe_fault', 'rust_kprobe_open',
           'rust_kprobe_typed')
# Our own modules of tests that every boot of tests has on x86; others have the
# first.
MODULES = ('clauses', 'forms')


def _samples(built):
    return guest.shipped(built, *demo.samples(built.impl), *IN_RUST)


def _modules(built, *more):
    """Our test modules, built against BUILT: clauses, forms on x86, and MORE.

    And on x86 the program that comes with the clauses.
    """
    if built.arch != 'x86_64':
        return kernel.ours(built, MODULES[0], *more)
    found = kernel.ours(built, *MODULES, *more)
    return [*found, found[0].parent / 'perf_records']


def _early_probes(built):
    """What to boot with: probes on text that goes before the guest begins.

    One is ftrace's, the other is behind its call.
    """
    if built.arch != 'x86_64':
        return ''
    inside = int(_entry(built), 16) + 5
    return ('kprobe_event=p:early/entry,do_populate_rootfs;'
            f'p:early/inside,do_populate_rootfs+{inside} ')


def plant_tests(built):
    """Uses of freed memory, in a boot of their own: KASAN must see each."""
    prefix = f'{built.arch}.{built.impl}'
    image = guest.initramfs(built, 'plants', _job('plants', built.impl))
    with progress.Stage(f'boot {built.name} plants', 1):
        try:
            console = qemu.boot(built, image, name='plants',
                                cmdline=plants.CMDLINE)
        except qemu.Died as died:
            died.show()
            return [ktap.Result(f'{prefix}.plants.boot', 'fail',
                                died.found.split('\n')[0])]
    return plants.judge(console.lines, prefix)


def client_tests(built):
    """Upstream's tests of probe events on BUILT, in a boot of their own."""
    prefix = f'{built.arch}.{built.impl}'
    image = guest.initramfs(built, 'clients', _job('clients', built.impl),
                            files=clients.files())
    with progress.Stage(f'boot {built.name} clients', 4) as stage:
        try:
            # Some wait without a word.
            console = qemu.boot(built, image, name='clients', timeout=1800,
                                silence=400, cmdline='kunit.enable=0',
                                on_line=lambda line: stage.tick(line))
        except qemu.Died as died:
            died.show()
            return clients.judge(died.lines, prefix, ()) + [ktap.Result(
                f'{prefix}.clients.boot', 'fail',
                died.found.split('\n')[0])]
    found = clients.judge(console.lines, prefix, clients.names())
    found.append(ktap.Result(
        f'{prefix}.clients.no-splat', 'fail' if console.splats else 'pass',
        '; '.join(console.splats[:5])))
    return results.judge(found, *_lists(built))


_FORM_FAULTS = {'wrong': 'runs wrongly',
                'probed though it breaks': 'probes though they break',
                'refused though it works': 'refuses though they work'}


def _forms(built, lines):
    """What the forms test found: in few words, and all of it in a file."""
    found = [line.removeprefix('forms: ') for line in lines
             if line.startswith('forms: ')]
    total = next((line.removeprefix('sum: ') for line in found
                  if line.startswith('sum: ')), None)
    if not total:
        return
    env.RESULTS.mkdir(parents=True, exist_ok=True)
    path = env.RESULTS / f'forms-{built.name}.txt'
    path.write_text('\n'.join(found) + '\n')
    progress.say(f'instruction forms: {total}; each that is not right: '
                 f'{env.host(path)}')
    who = {'c': 'C', 'rust': 'Rust'}[built.impl]
    for under in ('', ' under a jump'):
        for kind, does in _FORM_FAULTS.items():
            groups = Counter(line.split(': ')[1] for line in found
                             if line.startswith(f'{kind}{under}: '))
            progress.say(f'{who} {does}{under}: {sum(groups.values())} forms'
                         + ''.join(f', {count} of {name}'
                                   for name, count in groups.items()))
    for line in found:
        if line.startswith('jumps: '):
            progress.say(f'instruction forms, {line}')


def _entry(built):
    """How far behind its first byte a function's entry is."""
    return '0x4' if built.has('X86_KERNEL_IBT') else '0x0'


def _lists(built):
    """Where what is known of BUILT is listed."""
    return built.impl, f'{built.impl}-{built.flavour}'


def guest_tests(built, states=8, cmdline='', says=None, extra=()):
    """Boot BUILT once: its KUnit suites, then our job; the results.

    STATES is how many each instruction form is run from. SAYS is a pattern
    of what the kernel must say if it has understood CMDLINE; EXTRA is for
    QEMU.
    """
    ours = _modules(built)
    job = f'STATES={states}\nENTRY={_entry(built)}\n' \
        + _job('health', built.impl, 'clauses', 'tests', 'kill')
    image = guest.initramfs(built, 'tests', job,
                            _samples(built) + ours)
    name = f'{built.arch} {built.impl}'
    with progress.Stage(f'boot {name}', 3) as stage:
        try:
            # C takes minutes to register what is compared.
            console = qemu.boot(built, image, name='tests',
                                timeout=1200 if built.impl == 'c' else 600,
                                cmdline=_early_probes(built) + cmdline,
                                extra=extra,
                                on_line=lambda line: stage.tick(line))
        except qemu.Died as died:
            found = ktap.parse(died.lines, f'{built.arch}.{built.impl}')
            died.show()
            return found + [ktap.Result(f'{built.arch}.{built.impl}.boot',
                                        'fail', died.found.split('\n')[0])]
    found = ktap.parse(console.lines, f'{built.arch}.{built.impl}')
    found.append(ktap.Result(
        f'{built.arch}.{built.impl}.no-splat',
        'fail' if console.splats else 'pass', '; '.join(console.splats[:5])))
    if says:
        said = any(re.search(says, line) for line in console.lines)
        found.append(ktap.Result(
            f'{built.arch}.{built.impl}.cmdline', 'pass' if said else 'fail',
            '' if said else f'no "{says}" after {cmdline}'))
    found = results.judge(found, *_lists(built))
    _forms(built, console.lines)
    found += crashes.tests(
        built, lambda job: guest.initramfs(built, job,
                                           _job(job, built.impl), ours))
    progress.say(f'{name}: booted under {console.accelerator} in '
                 f'{console.seconds:.0f} s, console {env.host(console.log)}')
    return found


def kunit_tests(built):
    """Boot BUILT once, for its KUnit suites and its checkers; the results.

    That is what a kernel can do that has no modules, or nothing to look at.
    """
    image = guest.initramfs(built, 'kunit', _job('health', built.impl))
    prefix = f'{built.arch}.{built.impl}'
    with progress.Stage(f'boot {built.name}', 1) as stage:
        try:
            console = qemu.boot(built, image, name='kunit',
                                on_line=lambda line: stage.tick(line))
        except qemu.Died as died:
            died.show()
            return ktap.parse(died.lines, prefix) + [ktap.Result(
                f'{prefix}.boot', 'fail', died.found.split('\n')[0])]
    found = ktap.parse(console.lines, prefix)
    found.append(ktap.Result(
        f'{prefix}.no-splat', 'fail' if console.splats else 'pass',
        '; '.join(console.splats[:5])))
    return results.judge(found, *_lists(built))


# The suite of the kernel crate's examples, of which most are not ours.
_EXAMPLES = re.compile(
    r'\.rust_doctests_kernel\.rust_doctest_kernel_(?!kprobes_)')


def of_others(name):
    """Is it an example in the documentation of what is not ours?"""
    return bool(_EXAMPLES.search(name))


# What the guest says, and what the emulation is then told.
_PIECES = {'# the storm begins': 'one-insn-per-tb on',
           '# the storm is over': 'one-insn-per-tb off'}

# What is shown of it.
_STORM_SAYS = tuple(f'# {one}' for one in (
    'anchored:', 'loose:', 'jumps:', 'jumps_loose:', 'boundaries:',
    'returns:', 'returns_loose:', 'modules_', 'cpus_', 'jumps_are')) + tuple(
        f'kprobes_storm: {one}' for one in ('sleepers', 'boundaries', 'steps'))

# Its tests that have nothing to do with return probes, those that have, and
# those in which all is turned off.
_STORMS_OF_OTHERS = ('no_hit_is_lost', 'nothing_is_called_late',
                     'no_hit_by_a_jump_is_lost', 'jumps_come_and_go',
                     'sleepers_come_back', 'interrupts_in_copies')
_STORMS_OF_RETURNS = ('no_return_is_lost', 'returns_come_and_go',
                      'the_killed_come_back', 'no_store_is_left')
_STORMS_OF_SWITCHES = ('nothing_is_called_late', 'jumps_come_and_go')


def not_of_storm(piecewise, returns):
    """The names of what a storm of that kind leaves out."""
    if returns:
        return _STORMS_OF_OTHERS
    return _STORMS_OF_RETURNS + _STORMS_OF_SWITCHES if piecewise else ()


# Of a minute, half is the guest's coming and going under emulation.
STORM_SECONDS = 40


def storm(built, seconds, piecewise=False, returns=False):
    """A storm of SECONDS on four CPUs; PIECEWISE: interrupts anywhere.

    Emulation takes interrupts between pieces of several instructions. While
    it storms a piece is one, then; to boot like that would take minutes.
    RETURNS: that of return probes alone.
    """
    modules = _modules(built, 'storm')
    name = 'storm-piecewise' if piecewise else 'storm'
    head = f'STORM_SECONDS={seconds}\n' + (
        'STORM_TICK=1000\nSTORM_PIECEWISE=y\n' if piecewise else '') + (
        'STORM_RETURNS=y\n' if returns else '')
    image = guest.initramfs(built, name, head + _job('storm', built.impl),
                            modules)
    prefix = f'{built.arch}.{built.impl}'
    monitor = Path(tempfile.mkdtemp()) / 'monitor'

    def heard(line):
        stage.tick(line)
        if piecewise and line in _PIECES:
            qemu.tell_monitor(monitor, _PIECES[line])
    with progress.Stage(f'{name} {built.arch} {built.impl}',
                        (4 if piecewise else 1) + seconds / 40) as stage:
        try:
            console = qemu.boot(
                built, image, name=name, smp=4, force='tcg', on_line=heard,
                cmdline='kunit.enable=0',
                timeout=300 + (18 if piecewise else 14) * seconds,
                extra=['-monitor', f'unix:{monitor},server=on,wait=off'])
        except qemu.Died as died:
            died.show()
            return [*ktap.parse(died.lines, prefix), ktap.Result(
                f'{prefix}.{name}.boot', 'fail', died.found.split('\n')[0])]
        finally:
            shutil.rmtree(monitor.parent)
    found = [one for one in ktap.parse(console.lines, prefix)
             if '.storm.' in one.name]
    found.append(ktap.Result(
        f'{prefix}.storm.no-splat', 'fail' if console.splats else 'pass',
        '; '.join(console.splats[:5])))
    for line in console.lines:
        if line.startswith(_STORM_SAYS) or 'in copies of' in line:
            progress.say(line)
    return found


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
    return demo.run(kernel.build(arch, impl), _job('run', impl))


@command
def shell():
    """make shell"""
    arch, impl = _shown()
    built = kernel.build(arch, impl)
    found = _samples(built)
    image = guest.initramfs(built, 'shell', _job('shell', impl), found)
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


def _checks():
    found = check.run()
    return found + results.vanished('check', found)


def _host_tests():
    found = host.run()
    return found + results.vanished('host', found)


def _all_of(built):
    """Whatever `make test` runs on a kernel."""
    if built.impl != 'rust':
        return guest_tests(built)
    return checkkernel.run(built) + guest_tests(built) \
        + storm(built, STORM_SECONDS)


def quick_clients(built):
    """Of those who use kprobes, the part that needs no root of its own."""
    found = client_tests(built)
    return found + results.vanished(f'{built.arch}-{built.impl}-clients',
                                    found)


def _finish(tally):
    progress.summary()
    return tally.close()


# Minutes that parts of `make test` may take, beside the set-up.
_HOST_BUDGET = 5
_ARCH_BUDGET = {'x86_64': 18}    # each other one: 10


@command
def test():
    """make test"""
    tally = results.Tally()
    # What cannot go on is a failure like others: the rest still counts.
    with progress.group('check and host tests', _HOST_BUDGET):
        tally.add(results.attempt('check.run', _checks))
        tally.add(results.attempt('host.run', _host_tests))
    for arch in variables.arches():
        impl = variables.impl(arch)

        def tests():
            built = kernel.build(arch, impl)
            found = _all_of(built)
            found += results.vanished(f'{arch}-{impl}', found)
            return found + (quick_clients(built) if arch == 'x86_64' else [])
        with progress.group(arch, _ARCH_BUDGET.get(arch, 10)):
            tally.add(results.attempt(f'{arch}.{impl}.build', tests))
    return _finish(tally)


@command
def plan():
    """make plan: writes the plans of expected tests from a run."""
    results.write_plan('check', check.run())
    results.write_plan('host', host.run())
    found = host.miri()
    if all(one.status == 'pass' for one in found):
        results.write_plan('miri', found)
    for arch in variables.arches():
        impl = variables.impl(arch)
        built = kernel.build(arch, impl)
        found = _all_of(built)
        if any(one.status == 'fail' for one in found):
            tally = results.Tally()
            tally.add(found)
            raise env.Refusal('every test to pass before it is planned',
                              'the failures above', 'mend them first')
        results.write_plan(f'{arch}-{impl}', found)
    return 0


@command
def check_only():
    """make check"""
    tally = results.Tally()
    tally.add(_checks())
    return _finish(tally)


@command
def host_test():
    """make host-test"""
    tally = results.Tally()
    tally.add(_host_tests())
    return _finish(tally)


@command
def host_fuzz():
    """make host-fuzz"""
    tally = results.Tally()
    tally.add(host.fuzz())
    return _finish(tally)


@command
def host_bench():
    """make host-bench"""
    tally = results.Tally()
    tally.add(host.bench())
    return _finish(tally)


def miri_tests():
    """The tests under Miri, and what of their plan is missing if it ran."""
    found = host.miri()
    if any(one.status != 'skip' for one in found):
        found += results.vanished('miri', found)
    return found


@command
def host_miri():
    """make host-miri"""
    tally = results.Tally()
    tally.add(miri_tests())
    return _finish(tally)


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
    tally = results.Tally()
    tally.add(checkkernel.run(kernel.build(variables.arch(), 'rust')))
    return _finish(tally)


def _guest_part(keep):
    tally = results.Tally()
    arch = variables.arch()
    impl = variables.impl(arch)
    found = guest_tests(kernel.build(arch, impl))
    tally.add([one for one in found
               if one.status == 'fail' or keep(one.name)])
    tally.add(results.vanished(
        f'{arch}-{impl}', found,
        lambda name: keep(name) and '.storm.' not in name
        and not name.startswith('check-kernel.')))
    return _finish(tally)


_OURS = ('.surface.', '.samples.', '.clauses', '.modules.', '.files.',
         '.forms.', '.forms_jumps.', '.crash.', '.health.', '.early.',
         '.copies.', '.graph.', '.ftrace_kill.')


def of_kunit(name):
    """Is this test one of a KUnit suite of the kernel itself?"""
    return not any(o in name for o in (*_OURS, '.storm.', 'check-kernel.'))


@command
def kunit():
    """make kunit"""
    return _guest_part(of_kunit)


@command
def selftest():
    """make selftest"""
    return _guest_part(lambda name: any(o in name for o in _OURS))


@command
def storm_only():
    """make storm"""
    arch = variables.arch()
    tally = results.Tally()
    tally.add(storm(kernel.build(arch, variables.impl(arch)),
                    *variables.storm()))
    return _finish(tally)


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
    tally = results.Tally()
    words = os.environ.get('ARGS', '')
    found = programs.tests(impls, words)
    tally.add(found)
    if len(impls) == 2 and not words:
        tally.add(results.vanished('clients', found))
    return _finish(tally)


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
    tally = results.Tally()
    tally.add(coverage_tests())
    return _finish(tally)


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
    tally = results.Tally()
    tally.add(pages.run(lambda: kernel.build(variables.arch(), 'rust')))
    return _finish(tally)


@command
def selfcheck():
    """make selfcheck"""
    import faults
    return faults.run()


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
                     'modules', 'series', 'selfcheck', 'rustdoc', 'stap',
                     'bpf', 'bindgen-build'):
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
        toolchain.require(name)
        with _turn(name):
            # What an interrupted command before this one has left.
            procs.clear_scratch()
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
