# SPDX-License-Identifier: GPL-2.0
"""make test-clients: real programs use probes, with C's kprobes and with ours.

The guest runs a Debian root that kp has made. A case is a file TOOL/CASE.sh in
clients/; clients/run.sh tells how it is judged there. Here both guests are
compared: what goes well with C has to go well with ours, and to print the
same. What C does not do either is not applicable.
"""

import os
import re
import shutil
from dataclasses import dataclass

import bpf
import env
import guest
import heads
import kernel
import progress
import qemu
import results
import stap
from ktap import Result

FOLDER = env.KPROBES / 'clients'
_KEPT = env.RESULTS / 'clients'
_SAID = re.compile(r'case: (\S+) (pass|fail|skip) (\d+): ?(.*)')
_LEAF = re.compile(r'leaf: (\S+) (pass|fail|skip) ?(.*)')
_FIGURES = re.compile(r'figures: (.*)')
_LIVEPATCH = 'tools/testing/selftests/livepatch/test_modules'
MEMORY = 2048


@dataclass
class Outcome:
    """How a case, or a part of it, ended with one implementation."""

    status: str
    why: str = ''
    seconds: int = 0
    out: str = ''


def cases(only=''):
    """The names of all cases, or of those that begin with a word of ONLY."""
    found = sorted(str(path.relative_to(FOLDER))[:-3]
                   for path in FOLDER.glob('*/*.sh'))
    words = only.split() or ['']
    for word in words:
        if not any(name.startswith(word) for name in found):
            raise env.Refusal(
                'cases of make test-clients: ' + ', '.join(found), word,
                'give the beginnings of names, such as ARGS="perf '
                f'{found[0]}"')
    return [name for name in found if name.startswith(tuple(words))]


def _root():
    root = os.environ.get('KP_CLIENTS')
    if not root:
        raise env.Refusal(
            'a Debian root for the guest', 'none with HOST_TOOLS=1',
            'leave HOST_TOOLS out: make test-clients makes a root of its own')
    return root


def _shares(built, out, scripts, of_bpf):
    """What the guest sees of this machine, for QEMU.

    SCRIPTS is the folder of what SystemTap has compiled, OF_BPF that of the
    tests of BPF.
    """
    folders = {'root': (_root(), 'on'), 'kernel': (built.obj, 'on'),
               'clients': (FOLDER, 'on'),
               'selftests': (env.TREE / 'tools/testing/selftests', 'on'),
               'modules': (_modules(built), 'on'), 'stap': (scripts, 'on'),
               'bpf': (of_bpf, 'on'), 'results': (out, 'off')}
    found = []
    for tag, (path, readonly) in folders.items():
        found += ['-fsdev', f'local,id={tag},path={path},security_model=none,'
                  f'multidevs=remap,readonly={readonly}',
                  '-device', f'virtio-9p-pci,fsdev={tag},mount_tag={tag}']
    return found


def _place_of_modules(built):
    return built.obj / 'modules-of-clients'


def _modules(built):
    """A folder of all modules for BUILT, its own and those of tests."""
    folder = _place_of_modules(built)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in [*kernel.upstreams(built, _LIVEPATCH),
                 *kernel.upstreams(built, bpf.KMODS),
                 *sorted(built.obj.rglob('*.ko'))]:
        os.link(path, folder / path.name)
    return folder


def _head(name):
    return heads.of((FOLDER / f'{name}.sh').read_text())


def _budget(names):
    """Seconds that all of them may take, and the longest of them."""
    limits = [int(_head(name).get('limit', 120)) for name in names]
    return sum(limits) + 120, max(limits) + 60


def run(built, names):
    """Run cases NAMES on BUILT; ({name: Outcome}, what else went wrong)."""
    out = _KEPT / built.impl
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    # Of the run before; SystemTap would find each module twice.
    shutil.rmtree(_place_of_modules(built), ignore_errors=True)
    scripts, without = stap.prepare(built, names)
    of_bpf, none = bpf.prepare(built, names)
    without.update(none)
    found = {name: Outcome('skip', f'it does not compile: {why}')
             for name, why in without.items()}
    names = [name for name in names if name not in found]
    if not names:
        return found, []
    job = (env.KPROBES / 'guest/jobs/programs.sh').read_text()
    image = guest.initramfs(
        built, 'programs',
        f'IMPL={built.impl}\nCASES="{" ".join(names)}"\n{job}')
    whole, longest = _budget(names)
    shares = _shares(built, out, scripts, of_bpf)
    wrong = []

    def line(text):
        if match := _SAID.match(text):
            found[match[1]] = Outcome(match[2], match[4], int(match[3]))
            stage.tick(f'{match[1]}: {match[2]}')
    with progress.Stage(f'boot {built.name} programs', 10) as stage:
        try:
            console = qemu.boot(
                built, image, name='programs', memory=MEMORY, on_line=line,
                timeout=whole, silence=longest, extra=shares,
                cmdline='kunit.enable=0')
            wrong = console.splats
        except qemu.Died as died:
            died.show()
            wrong = [died.found.split('\n')[0]]
    for name, one in list(found.items()):
        path = out / f'{name}.out'
        text = path.read_text(errors='replace') if path.exists() else ''
        leaves = _leaves(name, text)
        if leaves:
            del found[name]
            if one.status != 'pass':
                leaves[f'{name}/all'] = one
            found.update(leaves)
        else:
            one.out = text
    return found, wrong


def _leaves(name, text):
    """The parts of a case that reports more than one."""
    return {f'{name}/{match[1]}': Outcome(match[2], match[3])
            for match in map(_LEAF.match, text.splitlines()) if match}


def _dotted(name):
    return 'clients.' + name.replace('/', '.')


def alone(impl, found, names):
    """The Results of one implementation's cases."""
    every = [Result(f'{impl}.{_dotted(name)}', one.status, one.why)
             for name, one in found.items()]
    return every + [Result(f'{impl}.{_dotted(name)}', 'fail', 'it was not run')
                    for name in names if not _ran(name, found)]


def _ran(name, found):
    return any(one == name or one.startswith(f'{name}/') for one in found)


def compare(name, with_c, with_rust, differs=None):
    """The Result of a case that both have run, or should have.

    DIFFERS says why the outputs may not be the same.
    """
    dotted = _dotted(name)
    if not with_rust:
        return Result(dotted, 'fail', 'it was not run with ours'
                      + ('' if with_c else ', nor with C'))
    if with_rust.status == 'pass':
        if not with_c or with_c.status != 'pass' or differs \
                or with_c.out == with_rust.out:
            return Result(dotted, 'pass')
        return Result(dotted, 'fail', 'another output than with C: '
                      + difference(with_c.out, with_rust.out))
    if with_c and with_c.status == 'pass':
        return Result(dotted, 'fail', f'it passes with C: {with_rust.why}')
    why = with_c.why if with_c else 'it was not run with C'
    return Result(dotted, 'skip' if with_c else 'fail',
                  f'not applicable: {why}')


def difference(before, after):
    """The first lines in which two texts differ."""
    one, two = before.splitlines(), after.splitlines()
    for number in range(max(len(one), len(two))):
        left, right = (lines[number] if number < len(lines) else '(its end)'
                       for lines in (one, two))
        if left != right:
            return f'line {number + 1}: "{left}" with C, "{right}" with ours'
    return 'only in how lines end'


_CALLED = {'c': 'C', 'rust': 'Rust'}
_SHOWN = {'pass': 'passed', 'fail': 'FAILED', 'skip': 'not here', None: '-'}


def table(found, explained):
    """What went how: tool x case x implementation, as lines."""
    names = sorted({name for every in found.values() for name in every})
    rows = []
    for name in names:
        both = [found.get(impl, {}).get(name) for impl in ('c', 'rust')]
        alike = ''
        if all(one and one.status == 'pass' for one in both):
            alike = 'same' if both[0].out == both[1].out else explained.get(
                name.rpartition('/')[0] if '/' in name[name.find('/') + 1:]
                else name, 'DIFFERENT')
        tool, _, case = name.partition('/')
        rows.append(f'{tool:10} {case:46} '
                    + ' '.join(f'{_SHOWN[one and one.status]:9}'
                               f'{f"{one.seconds} s" if one else "":>6}'
                               for one in both) + f'  {alike}'.rstrip())
    return [f'{"tool":10} {"case":46} {"C":15} {"Rust":15}  output', *rows]


def figures(impls):
    """What cases have measured, of all implementations, as lines."""
    rows = []
    for impl in impls:
        for log in sorted((_KEPT / impl).glob('*/*.log')):
            rows += [f'{_CALLED[impl]:5} {match[1]}' for match in map(
                _FIGURES.match, log.read_text(errors='replace').splitlines())
                     if match]
    return rows


def tests(impls, only=''):
    """Everything, with each of IMPLS; the Results."""
    names = cases(only)
    stap.require(names)
    explained = {name: why for name in names
                 if (why := _head(name).get('differs'))}
    found, every = {}, []
    for impl in impls:
        built = kernel.build('x86_64', impl, 'clients')
        found[impl], wrong = run(built, names)
        every.append(Result(f'{impl}.clients.boot',
                            'fail' if wrong else 'pass',
                            '; '.join(wrong[:5])))
    if len(impls) == 1:
        every += alone(impls[0], found[impls[0]], names)
    else:
        seen = {name for each in found.values() for name in each}
        seen |= {name for name in names if not _ran(name, found['rust'])}
        every += [compare(name, found['c'].get(name), found['rust'].get(name),
                          next((why for case, why in explained.items()
                                if _ran(case, {name: None})), None))
                  for name in sorted(seen)]
    lines = [*table(found, explained), *figures(impls)]
    _KEPT.mkdir(parents=True, exist_ok=True)
    (_KEPT / 'table.txt').write_text('\n'.join(lines) + '\n')
    progress.say('\n'.join(['', *lines]))
    progress.say(f'what each has said: {env.host(_KEPT)}')
    return results.judge(every, 'clients')
