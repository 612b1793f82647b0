# SPDX-License-Identifier: GPL-2.0
"""The guests that tests boot: what each runs, and what its console shows."""

import re
import tempfile
from collections import Counter
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import crashes
import demo
import env
import guest
import kernel
import ktap
import progress
import qemu
import results
from kernel import Built
from ktap import Result

# Samples that no demonstration loads.
IN_RUST = ('rust_minimal', 'rust_kprobe', 'rust_kretprobe',
           'rust_kprobe_batch', 'rust_kprobe_fault', 'rust_kprobe_open',
           'rust_kprobe_typed')


def job(name: str, impl: str, *before: str) -> str:
    """The shell text of a job, and of those to run before it."""
    text = ''.join(guest.script(part).read_text() for part in (*before, name))
    return f'IMPL={impl}\n{text}'


def samples(built: Built) -> list[Path]:
    """The samples as modules."""
    return guest.shipped(built, *demo.samples(built.impl), *IN_RUST)


def modules(built: Built) -> list[Path]:
    """Our test modules, built against BUILT, and the programs beside them."""
    paths = kernel.ours(built, *built.machine.modules)
    return [*guest.shipped(built, 'kprobes_clauses', *built.machine.shipped), *paths,
            *(paths[0].parent / name for name in built.machine.programs)]


def _prefix(built: Built) -> str:
    return f'{built.arch}.{built.impl}'


def _boot(built: Built, image: Path, name: str, planned: float, part: str = '',
          **options: Any) -> tuple[list[str], list[Result]]:
    """One boot: (its lines, its results, of which the last, called PART, is how it ended).

    A line that a healthy kernel never prints is a failure, too.
    """
    with progress.Stage(f'boot {built.name} {name}', planned) as stage:
        hear = options.pop('on_line', lambda line: None)

        def on_line(line: str) -> None:
            stage.tick(line)
            hear(line)
        try:
            console = qemu.boot(built, image, name=name, on_line=on_line, **options)
        except qemu.Died as died:
            died.show()
            lines, ending = died.lines, Result(
                f'{_prefix(built)}{part}.boot', 'fail', died.found.split('\n')[0], died.log)
        else:
            if console.splats:
                first = console.lines.index(console.splats[0])
                progress.say('\n'.join(console.lines[first:first + 40]))
            lines, ending = console.lines, ktap.verdict(
                f'{_prefix(built)}{part}.no-splat', '; '.join(console.splats[:5]),
                env.host(console.log))
    if not ending.name.endswith('.boot'):
        progress.say(f'{built.name} {name}: booted under {console.accelerator} in '
                     f'{console.seconds:.0f} s, console {ending.log}')
    cases = ktap.parse(lines, _prefix(built))
    for case in cases:
        case.log = ending.log
    return lines, results.judge([*cases, ending], *(
        f'{built.impl}{part}' for part in ('', f'-{built.arch}', f'-{built.flavour}')))


def client_tests(built: Built) -> list[Result]:
    """Upstream's tests of probe events on BUILT, in a boot of their own."""
    tree = env.TREE / 'tools/testing/selftests/ftrace'
    image = guest.initramfs(built, 'clients', job('clients', built.impl), files={
        f'/ftrace/{path.relative_to(tree)}': path for path in (
            tree / 'ftracetest', tree / 'test.d/functions',
            *sorted((tree / 'test.d/kprobe').glob('*.tc')))})
    # Some wait without a word.
    return _boot(built, image, 'clients', 6, '.clients',
                 timeout=1800, silence=400, cmdline='kunit.enable=0')[1]


def _early_probes(built: Built) -> str:
    """Words of the command line: probes on text that goes before the job.

    One is ftrace's, the other is behind its call.
    """
    behind = built.machine.early_probe
    if behind is None:
        return ''
    return ('kprobe_event=p:early/entry,do_populate_rootfs;'
            f'p:early/inside,do_populate_rootfs+{built.entry + behind} ')


def _is_understood(built: Built, lines: list[str], cmdline: str, says: str | None,
                   log: str) -> list[Result]:
    """Whether LINES, of LOG, have SAYS, if any: then the kernel has understood CMDLINE."""
    if not says:
        return []
    is_said = any(re.search(says, line) for line in lines)
    return [ktap.verdict(f'{_prefix(built)}.cmdline',
                         '' if is_said else f'no "{says}" after {cmdline}', log)]


def main_tests(built: Built, paths: list[Path], cmdline: str = '',
               says: str | None = None, extra: tuple[str, ...] = ()) -> list[Result]:
    """Boot BUILT: its KUnit suites, then samples and the modules in PATHS.

    SAYS is a pattern of what the kernel must say if it has understood CMDLINE;
    EXTRA is for QEMU.
    """
    text = f'ENTRY={built.entry:#x}\n' + job('health', built.impl, 'clauses', 'tests', 'kill')
    image = guest.initramfs(built, 'tests', text, samples(built) + paths)
    # Under emulation, 1,000 tasks take half a minute to come, without a word.
    lines, outcomes = _boot(built, image, 'tests', 11, silence=240, timeout=2700,
                            cmdline=_early_probes(built) + cmdline, extra=extra)
    return outcomes + _is_understood(built, lines, cmdline, says, outcomes[-1].log)


def form_tests(built: Built, paths: list[Path], states: int, cmdline: str,
               extra: tuple[str, ...]) -> list[Result]:
    """Boot BUILT for the forms of instructions, each run from so many STATES."""
    text = f'STATES={states}\n' + job('health', built.impl, 'forms')
    image = guest.initramfs(built, 'forms', text, paths)
    lines, outcomes = _boot(built, image, 'forms', 7, '.forms', silence=240, timeout=2700,
                            cmdline=cmdline, extra=extra)
    # The sums of the forms; the console has all lines.
    for line in lines:
        if line.startswith(('forms: sum: ', 'forms: jumps: ')):
            progress.say(f'instruction {line}')
    return outcomes


def crash_tests(built: Built, paths: list[Path]) -> list[Result]:
    """Boot BUILT for what must kill a task or the guest."""
    return crashes.tests(built, lambda names: guest.initramfs(
        built, 'crashes', f'CRASHES="{names}"\n' + job('crashes', built.impl),
        paths))


# The suites that are not in the boot for all others, and where they are.
_BOOTS = {'forms': 'forms', 'forms_jumps': 'forms', 'upstream': 'forms', 'crash': 'crashes'}


def boots(built: Built, paths: list[Path], states: int = 8, cmdline: str = '',
          says: str | None = None, extra: tuple[str, ...] = ()
          ) -> list[tuple[str, Callable[[], list[Result]]]]:
    """(name, function) of each boot for functional tests of BUILT.

    PATHS are the modules; for the rest see main_tests() and form_tests().
    """
    functions = [('tests', lambda: main_tests(
        built, paths, cmdline=cmdline, says=says, extra=extra))]
    if built.impl in built.machine.forms:
        # Of suites, those of its modules alone; CMDLINE may name others.
        functions.append(('forms', lambda: form_tests(
            built, paths, states, cmdline=f'kunit.filter_glob=[fu][op]* {cmdline}',
            extra=extra)))
    if built.impl in built.machine.crashes:
        functions.append(('crashes', lambda: crash_tests(built, paths)))
    return functions


def kunit_tests(built: Built, cmdline: str = '') -> list[Result]:
    """Boot BUILT, maybe without modules, for its KUnit suites and its checkers."""
    image = guest.initramfs(built, 'kunit', job('health', built.impl))
    return _boot(built, image, 'kunit', 1, cmdline=cmdline)[1]


def chosen(built: Built, part: str, test: str) -> list[Result]:
    """The results that TEST means, in PART, and what is wrong with the boot."""
    suite = test.partition('.')[0]
    # KUnit knows cases, and not the parameters of one. The suite graph runs
    # the clauses once more.
    cases = 'clauses*' if suite == 'graph' else '.'.join(test.split('.')[:2])
    cmdline = f'kunit.filter_glob={cases}'
    outcomes = []
    if part == 'kunit':
        outcomes = kunit_tests(built, cmdline)
    else:
        wanted = {where for name, where in _BOOTS.items() if fnmatchcase(name, suite)}
        if suite not in _BOOTS:
            wanted.add('tests')
        for name, boot in boots(built, modules(built), cmdline=cmdline):
            if name in wanted:
                outcomes += boot()
    return [outcome for outcome in outcomes if results.chosen(outcome.name, test)
            or outcome.status == 'fail'
            and outcome.name.endswith(('.boot', '.no-splat'))]


# Lines of the guest, and the words for QEMU's monitor that follow them.
_PIECES = {'# the storm begins': 'one-insn-per-tb on', '# the storm is over': 'one-insn-per-tb off'}

# Of what a storm counts: what must not happen.
_ERRORS = ('wrong', 'late', 'refused', 'miscounted', 'astray', 'mixed_up',
           'uneven', 'unwound_wrongly')
# Of a minute, half is the guest's coming and going under emulation.
STORM_SECONDS = 40


def _say_storm(lines: list[str]) -> None:
    """Print a line of what each part of a storm has counted."""
    parts: dict[str, Counter[str]] = {}
    for line in lines:
        if match := re.match(r'# (\w+): wrong \d+,', line):
            parts.setdefault(match[1], Counter()).update(
                {name: int(number) for name, number
                 in re.findall(r'(\w+) (\d+),', line)})
    for part, counts in parts.items():
        errors = ', '.join(f'{name} {counts[name]}' for name in _ERRORS if counts[name])
        progress.say(f'storm, {part}: probes came and went {counts["rounds"]} times '
                     f'under {counts["ticks"]} interrupts; errors: {errors or "none"}')


def storm(built: Built, paths: list[Path], seconds: int = STORM_SECONDS,
          piecewise: bool = False, returns: bool = False, cmdline: str = '',
          says: str | None = None, extra: tuple[str, ...] = ()) -> list[Result]:
    """A storm of SECONDS on four CPUs; PIECEWISE: interrupts anywhere.

    Emulation takes interrupts between pieces of several instructions; while it
    storms, a piece is one. RETURNS: that of return probes alone. SAYS as for
    main_tests(). EXTRA, for QEMU, may have other CPUs.
    """
    name = 'storm-piecewise' if piecewise else 'storm'
    head = f'STORM_SECONDS={seconds}\n' + (
        'STORM_TICK=1000\nSTORM_PIECEWISE=y\n' if piecewise else '') + (
        'STORM_RETURNS=y\n' if returns else '')
    image = guest.initramfs(built, name, head + job('storm', built.impl), paths)

    def hear(line: str) -> None:
        if piecewise and line in _PIECES:
            qemu.tell_monitor(monitor, _PIECES[line])
    with tempfile.TemporaryDirectory() as folder:
        monitor = Path(folder) / 'monitor'
        lines, outcomes = _boot(
            built, image, name, (5 if piecewise else 4) + seconds / 40,
            '.storm', smp=4, force='tcg', on_line=hear, silence=300,
            cmdline=f'kunit.enable=0 {cmdline}'.strip(),
            timeout=300 + (18 if piecewise else 14) * seconds,
            extra=[*extra, '-monitor', f'unix:{monitor},server=on,wait=off'])
    _say_storm(lines)
    return [outcome for outcome in outcomes if '.storm.' in outcome.name] \
        + _is_understood(built, lines, cmdline, says, outcomes[-1].log)


# The suite of the kernel crate's examples, of which most are not ours.
FOREIGN_EXAMPLES = re.compile(r'\.rust_doctests_kernel\.rust_doctest_kernel_(?!kprobes_)')
