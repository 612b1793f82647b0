# SPDX-License-Identifier: GPL-2.0
"""Host tests: the Rust code in Cargo, the harness in unittest."""

import concurrent.futures
import os
import re
import time
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from pathlib import Path

import env
import judges
import kernel
import nightly
import packages
import procs
import progress
import results
from ktap import Result, logged

CRATE = env.KPROBES / 'host'
_TEST = re.compile(r'^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)(?:, (.*))?$')
_UNIT = re.compile(r'^(\w+) \(([\w.]+)\)(?:\n.*)? \.\.\. (ok|FAIL|ERROR|skipped (.*))$')

# How many tests of a crate follow.
_RUNNING = re.compile(r'^running (\d+) tests?$')

# The heading of a test's output, and the reason of a test that skips itself.
_OUTPUT = re.compile(r'^---- (\S+) stdout ----$')
_SKIPPED = re.compile(r'^skipped: (.*)$')

# Only `make coverage` boots the kernels it looks at, and runs it.
_BOOTED = 'each_instruction_of_a_booted_kernel'

# Lines of the tests that compare decoders, or look at kernels.
_COUNTED = re.compile(r'^\S.*: \d+ strings, |^jumps: |^  \d+ (un)?explained: ')


def cargo_environment() -> dict[str, str]:
    """Crates come from the cache; objects go to this checkout's part."""
    return {'CARGO_HOME': str(env.CACHE / 'cargo'),
            'CARGO_TARGET_DIR': str(env.WORK / 'host'),
            'CARGO_TERM_COLOR': 'never'}


def fetch() -> None:
    """The crates of the committed Cargo.lock, once, into the cache."""
    lock = (CRATE / 'Cargo.lock').read_text()
    mark = env.CACHE / 'cargo' / 'fetched'
    if 'source = ' not in lock or (mark.exists() and mark.read_text() == lock):
        return
    with procs.alone('crates'), progress.Stage('crates', 0.5):
        log = env.LOGS / 'cargo-fetch.log'
        for pause in (0, packages.PAUSE):
            time.sleep(pause)
            status = procs.run(['cargo', 'fetch', '--locked'], log, cwd=CRATE,
                               extra=cargo_environment())
            if not status:
                break
        else:
            raise env.Refusal('the crates of Cargo.lock from the registry',
                              procs.tail(log, 5),
                              'is the network up (proxy variables)? All but make check, '
                              'make coverage and host tests works without them', env.host(log))
        mark.write_text(lock)


def _rust(name: str, planned: float, words: Iterable[str] = (),
          environment: dict[str, str] | None = None,
          on_line: Callable[[str], object] | None = None,
          command: Iterable[str] = ('test', '--workspace')) -> list[Result]:
    """Cargo's tests, those that WORDS choose, as results below NAME."""
    fetch()
    log = env.LOGS / f'{name}-rust.log'
    outcomes: list[Result] = []
    shown, announced = '', 0

    def line(text: str) -> None:
        nonlocal shown, announced
        if match := _RUNNING.match(text):
            announced += int(match[1])
        elif match := _TEST.match(text):
            status = {'ok': 'pass', 'FAILED': 'fail'}.get(match[2], 'skip')
            outcomes.append(Result(f'{name}.{match[1]}', status, match[3] or ''))
            stage.tick(match[1])
        elif match := _OUTPUT.match(text):
            shown = f'{name}.{match[1]}'
        elif match := _SKIPPED.match(text):
            for outcome in outcomes:
                if outcome.name == shown and outcome.status == 'pass':
                    outcome.status, outcome.reason = 'skip', match[1]
        elif on_line:
            on_line(text)
    with progress.Stage(f'{name} tests', planned) as stage:
        # One thread: with several, a test's name and verdict are on
        # different lines.
        status = procs.run(['cargo', *command, '--offline', '--locked',
                            '--no-fail-fast', '--', *words,
                            '--test-threads=1', '--show-output'],
                           log, cwd=CRATE, on_line=line,
                           extra={**cargo_environment(),
                                  **judges.environment(),
                                  **(environment or {})})
    if status and not any(outcome.status == 'fail' for outcome in outcomes):
        print(procs.tail(log, 30))
        outcomes.append(Result(f'{name}.cargo-test', 'fail', f'exit status {status}'))
    if len(outcomes) < announced:
        outcomes.append(Result(
            f'{name}.plan', 'fail', f'{announced} tests announced, '
            f'{len(outcomes)} came'))
    return logged(outcomes, log)


def _unit_tests(module: str, test: str) -> tuple[Path, int]:
    """unittest in a process of its own for MODULE: (its log, its status)."""
    log = env.LOGS / f'host-python-{module}.log'
    return log, procs.run(
        ['python3', '-m', 'unittest', '-v', *(['-k', f'*{test}*'] if test else []),
         f'tests.{module}'], log, cwd=env.HARNESS)


def python(test: str = '') -> list[Result]:
    """The tests of the harness, or those whose names TEST is in, on all CPUs."""
    names = sorted(path.stem for path in env.HARNESS.glob('tests/test_*.py'))
    lanes = max(2, len(os.sched_getaffinity(0)))
    with progress.Stage('harness tests', 1) as stage, \
            concurrent.futures.ThreadPoolExecutor(lanes) as pool:
        outcomes: list[Result] = []
        for log, status in pool.map(lambda name: _unit_tests(name, test), names):
            stage.tick(log.stem)
            outcomes += _verdicts(log, status, bool(test))
    return outcomes


def _verdicts(log: Path, status: int, chosen: bool) -> list[Result]:
    """The results that unittest prints in LOG, perhaps none of those CHOSEN."""
    outcomes: list[Result] = []
    text = log.read_text(errors='replace')
    for line in text.splitlines():
        if match := _UNIT.match(line):
            verdict = {'ok': 'pass'}.get(
                match[3], 'skip' if match[3].startswith('skipped') else 'fail')
            outcomes.append(Result(
                f'harness.{match[2].removeprefix("tests.")}', verdict,
                match[4] or ''))
    ran = re.search(r'^Ran (\d+) test', text, re.M)
    if chosen and ran and ran[1] == '0':
        return []
    if ran and int(ran[1]) > len(outcomes):
        outcomes.append(Result('harness.unittest', 'fail',
                               f'{ran[1]} ran, only {len(outcomes)} verdicts were '
                               'read: does one print, or have a docstring?'))
    if status and not any(outcome.status == 'fail' for outcome in outcomes):
        outcomes.append(Result('harness.unittest', 'fail', procs.tail(log, 8)))
    elif status:
        print(procs.tail(log, 40))
    return logged(outcomes, log)


def rust(test: str = '') -> list[Result]:
    """Cargo's tests, or those whose names TEST is in; * in it is anything."""
    # Cargo looks for words, and knows no pattern.
    word = max(test.split('*'), key=len)
    # Two at once would write one log.
    with procs.turn(env.WORK / 'host.lock', 'this checkout', 'host tests'):
        kernels = _kernels('rust-test')
        outcomes = _rust('host', 10, (*filter(None, [word]), '--skip', _BOOTED), kernels)
        outcomes = [outcome for outcome in outcomes if outcome.status == 'fail'
                    or fnmatchcase(outcome.name, f'host.*{test}*')]
        # Tests are skipped for want of a kernel, and for nothing else.
        for outcome in outcomes:
            if outcome.status == 'skip' and kernels['KPROBES_VMLINUX']:
                outcome.status = 'fail'
                outcome.reason = f'skipped, though one was built: {outcome.reason}'
        return outcomes


def _kernels(pattern: str) -> dict[str, str]:
    """Built kernels whose every address is looked at, if there are any."""
    return {'KPROBES_VMLINUX': ':'.join(map(str, kernel.images(pattern)))}


def fuzz() -> list[Result]:
    """The long form of what is random; what decoders counted is shown."""
    images = judges.images()
    progress.say(f'{len(images)} images of kernels and modules')
    counts: list[str] = []
    outcomes = _rust('fuzz', 6, ['differential::', 'ways::', '--skip', _BOOTED],
                     {'KPROBES_FUZZ': 'long',
                      'KPROBES_FUZZ_SEED': os.environ.get('SEED', ''),
                      'KPROBES_FUZZ_COUNT': os.environ.get('ARGS', ''),
                      'KPROBES_IMAGES': ':'.join(map(str, images)),
                      **_kernels('*')},
                     lambda text: counts.extend(filter(_COUNTED.match, [text])))
    progress.say('\n'.join(dict.fromkeys(counts)))
    return outcomes + [
        Result(f'fuzz.images.{arch}', 'skip', f'no built kernel to decode: make kernel ARCH={arch}')
        for arch in env.SUPPORTED if not kernel.images('*', arch)]


def bench() -> list[Result]:
    """Hits of return probes on several threads, optimized; the times are shown."""
    times: list[str] = []
    with procs.turn(env.WORK / 'host.lock', 'this checkout', 'host tests'):
        outcomes = _rust('host-bench', 1, ['returns::speed::'],
                         on_line=lambda text: text.startswith('hit and return: ')
                         and times.append(text),
                         command=('test', '--release', '-p', 'rust_kprobes'))
    progress.say('\n'.join(times))
    return outcomes


def booted(kernels: Iterable[Iterable[Path]]) -> list[Result]:
    """Say what becomes of a probe on each instruction of KERNELS.

    Each is a vmlinux, a copy of its memory after boot, and a file to write.
    """
    with procs.turn(env.WORK / 'host.lock', 'this checkout', 'host tests'):
        return _rust('coverage', 1, [_BOOTED],
                     {'KPROBES_BOOTED': ':'.join(
                         str(path) for paths in kernels for path in paths)},
                     command=('test', '-p', 'kprobes_host'))


# The architectures whose words have 32 bits, or whose bytes come in the other
# order, or both, and all that Miri runs the tests for.
OTHERS = ('i686', 'powerpc', 's390x')
_MACHINES = ('x86_64', *OTHERS)
LINUX = '-unknown-linux-gnu'
# The tests that Miri runs: of what is pure or shared, all but sweeps, which take
# hours; of the whole crate, which is for x86_64, those that register and
# unregister. With a model of borrows each of these takes minutes, and that model
# rejects container_of(); all else that is undefined shows without.
_MIRI = (('pure', 'kprobes_host', _MACHINES,
          ['--skip', 'differential::', '--skip', 'ways::']),
         ('shared', 'kprobes_loom', _MACHINES,
          ['--skip', 'model::', '--skip', 'arrays_grow_and_shrink',
           '--skip', 'random_changes_are_those_of_a_map']),
         ('whole', 'rust_kprobes', _MACHINES[:1],
          ['order::', 'ftrace::', 'gone::', 'returns::']))
_MIRI_FLAGS = ('-Zmiri-permissive-provenance -Zmiri-ignore-leaks -Zmiri-disable-stacked-borrows')


def miri() -> list[Result]:
    """Tests under Miri, also as on other machines. Without Miri they fail."""
    outcomes = []
    for machine in _MACHINES:
        into = nightly.ready(machine + LINUX)
        for name, package, machines, words in _MIRI:
            if machine in machines:
                outcomes += _rust(
                    f'miri.{machine}.{name}', 2, words,
                    {**nightly.environment(into), 'MIRIFLAGS': _MIRI_FLAGS},
                    command=('miri', 'test', '-p', package,
                             '--target', machine + LINUX))
    return outcomes + results.vanished('miri', outcomes)
