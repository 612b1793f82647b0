# SPDX-License-Identifier: GPL-2.0
"""make test-clients: real programs use probes, with C's kprobes and with ours.

The guest runs a Debian root that kp has made. A case is a file TOOL/CASE.sh in
clients/; clients/run.sh tells how it is judged there. Here both guests are
compared: what goes well with C has to go well with ours, and to print the
same. What C does not do either is not applicable.
"""

import itertools
import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import env
import guest
import kernel
import progress
import qemu
from clients import bpf, stap
from clients.common import FOLDER, dotted, head
from ktap import Result, logged, verdict

_KEPT = env.RESULTS / 'clients'
_ENDED = re.compile(r'case: (\S+) (pass|fail|skip) (\d+): ?(.*)')
_LEAF = re.compile(r'leaf: (\S+) (pass|fail|skip) ?(.*)')
_FIGURES = re.compile(r'^figures: (.*)$', re.M)
_LIVEPATCH = 'tools/testing/selftests/livepatch/test_modules'


@dataclass
class Outcome:
    """How a case, or a part of it, ended with one implementation."""

    status: str
    why: str = ''
    seconds: int = 0
    out: str = ''


Outcomes = dict[str, Outcome]
_NOT_RUN = Outcome('fail', 'it was not run')


def cases(only: str = '') -> list[str]:
    """The names of all cases, or of those that begin with a word of ONLY."""
    names = sorted(str(path.relative_to(FOLDER))[:-3] for path in FOLDER.glob('*/*.sh'))
    words = only.split() or ['']
    for word in words:
        if not any(name.startswith(word) for name in names):
            raise env.Refusal(
                'cases of make test-clients: ' + ', '.join(names), word,
                'give the beginnings of names, such as ARGS="perf '
                f'{names[0]}"')
    return [name for name in names if name.startswith(tuple(words))]


def _case_of(name: str, names: Collection[str]) -> str | None:
    """The one of the cases NAMES that NAME is, or is a part of."""
    return next((case for case in names if name == case or name.startswith(f'{case}/')), None)


def _head(name: str) -> dict[str, str]:
    return head((FOLDER / f'{name}.sh').read_text())


def _shares(folders: dict[str, Path], device: str) -> Iterator[str]:
    """Words for QEMU: the guest sees these {tag: folder} of this machine."""
    for tag, path in folders.items():
        readonly = 'off' if tag == 'results' else 'on'
        yield from ('-fsdev', f'local,id={tag},path={path},readonly={readonly}'
                    ',security_model=none,multidevs=remap',
                    '-device', f'{device},fsdev={tag},mount_tag={tag}')


def _modules(built: kernel.Built) -> Path:
    """A folder of all modules for BUILT, its own and those of tests."""
    # Outside the objects of the kernel, where SystemTap would find them, too.
    folder = env.empty_folder(env.WORK / 'modules' / f'of-{built.name}')
    paths = sorted(built.obj.rglob('*.ko'))
    if built.has('LIVEPATCH'):
        paths += kernel.upstreams(built, _LIVEPATCH)
    if built.arch == bpf.ARCH:
        paths += kernel.upstreams(built, bpf.KMODS)
    for path in paths:
        os.link(path, folder / path.name)
    return folder


def _boot(built: kernel.Built, names: list[str], folders: dict[str, Path]
          ) -> tuple[Outcomes, list[str]]:
    """Run cases NAMES; how each ended, and what else went wrong."""
    job = (env.KPROBES / 'guest/jobs/programs.sh').read_text()
    slow = 1 if built.machine.kvm else 3
    image = guest.initramfs(
        built, 'programs',
        f'IMPL={built.impl}\nSLOW={slow}\nCASES="{" ".join(names)}"\n{job}')
    limits = [int(_head(name).get('limit', 120)) * slow for name in names]
    folders = {'root': Path(os.environ[f'KP_CLIENTS_{built.arch.upper()}']),
               'kernel': built.obj, 'clients': FOLDER,
               'selftests': env.TREE / 'tools/testing/selftests',
               'modules': _modules(built), **folders}
    outcomes = {}

    def line(text: str) -> None:
        if match := _ENDED.match(text):
            outcomes[match[1]] = Outcome(match[2], match[4], int(match[3]))
            stage.tick(f'{match[1]}: {match[2]}')
    with progress.Stage(f'boot {built.name} programs', 10) as stage:
        try:
            # As many CPUs with both: more make each probe take much longer.
            console = qemu.boot(
                built, image, name='programs', memory=2048, on_line=line,
                smp=built.machine.cpus_with_c,
                timeout=sum(limits) + 120, silence=max(limits) + 60,
                extra=list(_shares(folders, built.machine.share)), cmdline='kunit.enable=0')
        except qemu.Died as died:
            died.show()
            return outcomes, [died.found.split('\n')[0]]
    return outcomes, console.splats


def run(built: kernel.Built, names: list[str]) -> tuple[Outcomes, list[str]]:
    """Run cases NAMES on BUILT; ({name: Outcome}, what else went wrong)."""
    out = env.empty_folder(_KEPT / built.arch / built.impl)
    scripts, uncompiled = stap.prepare(built, names)
    programs, unmade = bpf.prepare(built, names)
    skipped = {name: Outcome('skip', f'it does not compile: {why}')
               for name, why in {**uncompiled, **unmade}.items()}
    names = [name for name in names if name not in skipped]
    if not names:
        return skipped, []
    outcomes, problems = _boot(built, names, {'stap': scripts, 'bpf': programs, 'results': out})
    for name, outcome in list(outcomes.items()):
        path = out / f'{name}.out'
        outcome.out = path.read_text(errors='replace') if path.exists() else ''
        leaves = {f'{name}/{match[1]}': Outcome(match[2], match[3]) for match
                  in map(_LEAF.match, outcome.out.splitlines()) if match}
        if leaves:
            del outcomes[name]
            if outcome.status != 'pass':
                leaves[f'{name}/all'] = outcome
            outcomes.update(leaves)
    ran = {_case_of(name, names) for name in outcomes}
    missing = {name: _NOT_RUN for name in names if name not in ran}
    return {**skipped, **outcomes, **missing}, problems


def compare(name: str, with_c: Outcome, with_rust: Outcome, differs: str | None = None) -> Result:
    """The Result of a case that both have run, or should have.

    DIFFERS says why the outputs may not be the same.
    """
    theirs = with_c.out if with_c.status == 'pass' else None
    status, why = 'fail', ''
    if with_rust.status == 'pass':
        if theirs is not None and theirs != with_rust.out and not differs:
            why = 'another output than with C: ' + difference(theirs, with_rust.out)
        else:
            status = 'pass'
    elif theirs is not None:
        why = f'it passes with C: {with_rust.why}'
    elif _NOT_RUN in (with_c, with_rust):
        why = f'with C: {with_c.why}; with ours: {with_rust.why}'
    else:
        status, why = 'skip', f'not applicable: {with_c.why}'
    return Result(dotted(name), status, why)


def difference(before: str, after: str) -> str:
    """The first lines in which two texts differ."""
    for number, (theirs, ours) in enumerate(itertools.zip_longest(
            before.splitlines(), after.splitlines(), fillvalue='(its end)'),
            1):
        if theirs != ours:
            return f'line {number}: "{theirs}" with C, "{ours}" with ours'
    return 'only in how lines end'


_SHOWN = {'pass': 'passed', 'fail': 'FAILED', 'skip': 'not here'}


def table(outcomes: dict[str, Outcomes], explained: dict[str, str]) -> Iterator[str]:
    """The outcomes as lines: tool x case x implementation."""
    yield f'{"tool":10} {"case":46} {"C":15} {"Rust":15}  output'
    for name in sorted({name for each in outcomes.values() for name in each}):
        both = [outcomes.get(impl, {}).get(name) for impl in ('c', 'rust')]
        alike = ''
        outputs = [outcome.out for outcome in both if outcome and outcome.status == 'pass']
        if len(outputs) == 2:
            alike = 'same' if outputs[0] == outputs[1] else explained.get(
                _case_of(name, explained) or '', 'DIFFERENT')
        tool, _, case = name.partition('/')
        columns = (f'{_SHOWN[outcome.status]:9}{f"{outcome.seconds} s":>6}'
                   if outcome else f'{"-":15}' for outcome in both)
        yield f'{tool:10} {case:46} {" ".join(columns)}  {alike}'.rstrip()


def tests(arch: str, impls: list[str], only: str = '') -> list[Result]:
    """Everything on ARCH, with each of IMPLS; the Results."""
    names = cases(only)
    stap.require(names)
    for name in names:
        needed = _head(name).get('needs', '')
        if not Path(os.environ[f'KP_CLIENTS_{arch.upper()}'] + needed).exists():
            raise env.Refusal(
                f'{needed} in the root of make test-clients, for the case {name}',
                'no such file', 'toolchain/clients-packages lists the packages of that '
                'root: is it in another place of one of them now?')
    explained = {name: why for name in names if (why := _head(name).get('differs'))}
    outcomes, judged = {}, []
    for impl in impls:
        built = kernel.build(arch, impl, 'clients')
        outcomes[impl], problems = run(built, names)
        judged.append(verdict(f'{impl}.clients.boot', '; '.join(problems[:5])))
    if len(impls) == 1:
        judged += [Result(f'{impls[0]}.{dotted(name)}', outcome.status, outcome.why)
                   for name, outcome in outcomes[impls[0]].items()]
    else:
        judged += [compare(name, outcomes['c'].get(name, _NOT_RUN),
                           outcomes['rust'].get(name, _NOT_RUN),
                           explained.get(_case_of(name, names) or ''))
                   for name in sorted({*outcomes['c'], *outcomes['rust']})]
    kept = _KEPT / arch
    # Below the table, the figures that cases have measured.
    lines = [*table(outcomes, explained), *(
        f'{impl.capitalize():5} {figure}' for impl in impls
        for log in sorted((kept / impl).glob('*/*.log'))
        for figure in _FIGURES.findall(log.read_text(errors='replace')))]
    kept.mkdir(parents=True, exist_ok=True)
    (kept / 'table.txt').write_text('\n'.join(lines) + '\n')
    progress.say('\n'.join(['', *lines]))
    progress.say(f'what each has said: {env.host(kept)}')
    return logged(judged, kept)
