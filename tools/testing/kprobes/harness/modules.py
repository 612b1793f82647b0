# SPDX-License-Identifier: GPL-2.0
"""make module DIR=path: somebody's module in our kernel; README's two."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import documents
import env
import guest
import kernel
import ktap
import progress
import qemu
import results

EXAMPLES = env.KPROBES / 'examples'
# How long a run.sh may run, in seconds.
LIMIT = 120


def _job(names: list[str], parameters: str, script: Path | None = None) -> str:
    """The job of the guest: load, run SCRIPT, show the list, unload."""
    lines = [guest.script('module').read_text(), 'mark module', 'refused=']
    for name in names:
        call = f'insmod {name}.ko {parameters}'.rstrip()
        lines += [f'say "$ {call}"',
                  f'if out=$(load {name} {parameters} 2>&1); then '
                  f'say "loaded {name}"; else '
                  f'say "refused {name}: $out"; refused=y; fi']
    # A file of debugfs has the size 0, whatever it says.
    lines += ['if [ -n "$(cat $KPROBES/refused 2>/dev/null)" ]; then '
              'say "$ cat kprobes/refused"; show <$KPROBES/refused; fi']
    lines += [f'[ -n "$refused" ] || run_it {LIMIT}' if script else 'touch_it',
              'say "$ cat kprobes/list"', 'show <$KPROBES/list']
    for name in reversed(names):
        lines += [f'if out=$(rmmod {name} 2>&1); then '
                  f'say "unloaded {name}"; '
                  f'elif [ -e /sys/module/{name.replace("-", "_")} ]; then '
                  f'say "stayed {name}: $out"; fi']
    return '\n'.join(lines) + '\n'


def run(built: kernel.Built, folder: Path, parameters: str = '') -> qemu.Console:
    """Build FOLDER's module, boot, load, show what it says; the whole console."""
    out = env.WORK / 'modules' / 'user'
    if out.exists():
        shutil.rmtree(out)
    objects = kernel.external(built, folder, out, 'user')
    names = [path.stem for path in objects]
    for line in kernel.warned(out / 'build.log'):
        print(line, flush=True)
    path = folder / 'run.sh'
    script = path if path.is_file() else None
    progress.say(
        f'run.sh in {env.host(folder)}: the guest runs it while the module is '
        f'loaded, for {LIMIT} s at most' if script else
        f'no run.sh in {env.host(folder)}: while the module is loaded, the '
        'guest runs three shells and sleeps for a second')
    image = guest.initramfs(built, 'module', _job(names, parameters, script),
                            objects, {'run.sh': script} if script else {})
    shown = []

    def show(line: str) -> None:
        if line == 'mark: module':
            shown.append(line)
        elif line == qemu.DONE:
            shown.clear()
        elif shown:
            print(line, flush=True)
    # The kernel's own tests take longer than all else, and have probes, too.
    console = qemu.boot(built, image, name='module', on_line=show,
                        cmdline='kunit.enable=0',
                        silence=LIMIT + qemu.SILENCE if script else None)
    progress.say(f'whole console: {env.host(console.log)}')

    def lines_with(begin: str) -> str:
        """The lines of the guest that BEGIN so."""
        return '; '.join(line for line in console.lines if line.startswith(begin))
    # The guest's words behind '| ' are those of run.sh, not the kernel's.
    splats = [line for line in console.splats if not line.startswith('| ')]
    ended = lines_with('run.sh ended')
    for expected, actual, do in (
            (f'{", ".join(names)} to load', lines_with('refused '),
             'see above what the module says (pr_err!)' + (
                 ', and behind "$ cat kprobes/refused" why its probes were '
                 'refused' if '$ cat kprobes/refused' in console.lines else
                 '; `kprobes/refused` has nothing: `kernel::kprobes` has refused, '
                 'or the module for a reason of its own; insmod only has an errno')),
            (f'run.sh to end within {LIMIT} s', lines_with('run.sh was stopped'),
             'have it make the calls that the probes are to see, and end; '
             'what it leaves in the background ends with it'),
            (f'{", ".join(names)} to unload', lines_with('stayed '),
             'does it have a function for module_exit(), and has it given '
             'back all that it holds?'),
            ('a kernel without complaints', '; '.join(splats[:3]),
             'see the lines above; where the kernel complains of sleeping or '
             'scheduling, a handler waits, which it must not'),
            ('run.sh to end with status 0',
             (ended or 'no such end')
             if script and ended != 'run.sh ended with status 0' else '',
             'see above what it says; where that is no failure, let its last '
             'line be exit 0')):
        if actual:
            raise env.Refusal(expected, actual, do, env.host(console.log))
    return console


def shown() -> dict[str, tuple[str, list[str]]]:
    """{example: (parameters, lines)}: what the pages show of make module."""
    texts = [listing.text for path in documents.pages()
             for listing in documents.listings(path)
             if listing.how == 'make module']
    calls = [text[0].removeprefix('$ insmod ').partition('.ko') for text in texts]
    return {name: (parameters.strip(), text) for (name, _, parameters), text in zip(calls, texts)}


def _result(built: kernel.Built, name: str, check: Callable, *words: Any) -> list[ktap.Result]:
    """The result NAME of CHECK, called with WORDS: it refuses what is wrong."""
    name = f'{built.arch}.{built.impl}.{name}'

    def outcome() -> list[ktap.Result]:
        check(*words)
        return [ktap.Result(name, 'pass')]
    return results.attempt(name, outcome)


def alone(built: kernel.Built) -> list[ktap.Result]:
    """Each folder of modules that has all its sources, by make M= with nothing but its Kbuild."""
    folders = sorted(
        path.parent for folder, pattern in (
            (env.SELFTESTS, '*/Kbuild'), (env.KPROBES, 'coverage/Kbuild'))
        for path in folder.glob(pattern))
    return [result for folder in folders for result in _result(
        built, f'alone.{folder.name}', kernel.external, built, folder,
        env.WORK / 'modules' / f'{folder.name}-alone', folder.name)]


def examples(built: kernel.Built) -> list[ktap.Result]:
    """The modules that README shows do what it says; the results."""
    def check(name: str, parameters: str, wanted: list[str]) -> None:
        console = run(built, EXAMPLES / name, parameters)
        if line := documents.absent(wanted, console.lines):
            raise env.Refusal(f'what the pages show of {name}, in this order', f'no "{line}", or '
                              'not there', 'mend the module or the page', env.host(console.log))
    return [result for name, words in shown().items()
            for result in _result(built, f'example.{name}', check, name, *words)]
