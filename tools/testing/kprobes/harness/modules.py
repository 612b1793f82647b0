# SPDX-License-Identifier: GPL-2.0
"""make module DIR=path: somebody's module in our kernel; README's two."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import env
import guest
import kernel
import ktap
import progress
import qemu

EXAMPLES = env.KPROBES / 'examples'
NAMES = ('hello', 'template')
# README's call, with the parameters, and what follows of it there.
_CALL = re.compile(r'^    make module DIR=\S+ ARGS="(.*)"$', re.M)
_SHOWN = r'^(    \$ insmod {}\.ko\b.*\n(?:    .*\n)+)'
# What is another one in each run: addresses, and how often (not never).
_VARIES = re.compile(r'\b(?:([0-9a-f]{16})|[1-9]\d*)\b')
# A handler whose arguments are taken as they stand there: see rust-api.rst.
_AS_IT_STANDS = re.compile(r'^\s*#\[k(?:ret)?probe\([^\])]*\bsymbol\b', re.M)
# What the kernel says of who waits where nobody may.
_WAITED = re.compile('scheduling while atomic|sleeping function called')
# How long a run.sh may run, in seconds.
LIMIT = 120


def _job(names: list[str], parameters: str,
         script: Path | None = None) -> str:
    """What the guest does: load, run SCRIPT, show the list, unload."""
    lines = [guest.script('module').read_text(),
             'mark module', 'refused=']
    for name in names:
        call = f'insmod {name}.ko {parameters}'.rstrip()
        lines += [f'say "$ {call}"',
                  f'if out=$(load {name} {parameters} 2>&1); then '
                  f'say "loaded {name}"; else '
                  f'say "refused {name}: $out"; refused=y; fi']
    lines += ['if [ -s $KPROBES/refused ]; then '
              'say "$ cat kprobes/refused"; show <$KPROBES/refused; fi']
    lines += [f'[ -n "$refused" ] || run_it {LIMIT}' if script else 'touch_it',
              'say "$ cat kprobes/list"', 'show <$KPROBES/list']
    for name in reversed(names):
        lines += [f'if out=$(rmmod {name} 2>&1); then '
                  f'say "unloaded {name}"; '
                  f'elif [ -e /sys/module/{name.replace("-", "_")} ]; then '
                  f'say "stayed {name}: $out"; fi']
    return '\n'.join(lines) + '\n'


def _script(folder: Path) -> Path | None:
    """The run.sh of FOLDER, if there is one; says what is done."""
    path = folder / 'run.sh'
    if path.is_file():
        progress.say(f'run.sh in {env.host(folder)}: the guest runs it while '
                     f'the module is loaded, for {LIMIT} s at most')
        return path
    progress.say(f'no run.sh in {env.host(folder)}: while the module is '
                 'loaded, the guest runs three shells and sleeps for a second')
    return None


def _of_script(lines: list[str], begin: str) -> str:
    """The line of LINES that says how run.sh has ended, if it BEGINs so."""
    return next((line for line in lines
                 if line.startswith(f'run.sh {begin}')), '')


def _say_what_is_not_refused(built: kernel.Built, folder: Path) -> None:
    if not built.has('DEBUG_INFO_BTF') and any(
            _AS_IT_STANDS.search(path.read_text(errors='replace'))
            for path in folder.rglob('*.rs')):
        progress.say('no BTF in this kernel: a handler by symbol = "..." that '
                     'has other arguments than its function is not refused '
                     'here, and shows wrong values; see that they are those '
                     'of the declaration')


def _own_words(name: str, lines: list[str]) -> str:
    """What the module NAME has said last before it was refused."""
    own = f'{name.replace("-", "_")}: '
    said = ''
    for line in lines:
        if line.startswith(f'refused {name}: '):
            break
        if line.startswith(own) and 'taints kernel' not in line:
            said = f'; it said "{line[len(own):]}"'
    return said


def _why(splats: list[str]) -> str:
    """What is to be done where the kernel complains."""
    if any(map(_WAITED.search, splats)):
        return ('a handler must not wait: no sleep, no mutex, no GFP_KERNEL '
                '(the call trace above names the handler)')
    return 'see the lines above'


def run(built: kernel.Built, folder: Path, parameters: str = '') -> list[str]:
    """Build FOLDER's module, boot, load, show what it says; all lines."""
    out = env.WORK / 'modules' / 'user'
    if out.exists():
        shutil.rmtree(out)
    objects = kernel.external(built, folder, out, 'user')
    names = [path.stem for path in objects]
    for line in kernel.warned(out / 'build.log'):
        print(line, flush=True)
    _say_what_is_not_refused(built, folder)
    script = _script(folder)
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
    refused = [line for line in console.lines if line.startswith('refused ')]
    progress.say(f'whole console: {env.host(console.log)}')
    if refused:
        told = [line + _own_words(line.split()[1].rstrip(':'), console.lines)
                for line in refused]
        raise env.Refusal(f'{", ".join(names)} to load', '; '.join(told),
                          'see above what the module says (pr_err!), and '
                          'kprobes/refused, if a probe was refused')
    if stopped := _of_script(console.lines, 'was stopped'):
        raise env.Refusal(f'run.sh to end within {LIMIT} s', stopped,
                          'have it make the calls that the probes are to see, '
                          'and end; what it leaves in the background ends '
                          'with it')
    stayed = [line for line in console.lines if line.startswith('stayed ')]
    if stayed:
        raise env.Refusal(f'{", ".join(names)} to unload', '; '.join(stayed),
                          'does it have a function for module_exit(), and '
                          'has it given back all that it holds?')
    # What is marked is not the kernel's.
    splats = [line for line in console.splats if not line.startswith('| ')]
    if splats:
        raise env.Refusal('a kernel without complaints',
                          '; '.join(splats[:3]), _why(splats))
    ended = _of_script(console.lines, 'ended')
    if script and ended != 'run.sh ended with status 0':
        raise env.Refusal('run.sh to end with status 0', ended or 'no such end',
                          'see above what it says; where that is no failure, '
                          'let its last line be exit 0')
    return console.lines


def shown(name: str = 'hello') -> tuple[str, list[str]]:
    """(parameters, lines): what README says of calling make module."""
    text = (env.REPO / 'README.md').read_text()
    lines = re.search(_SHOWN.format(name), text, re.M)[1].splitlines()
    return _CALL.search(text)[1], [line.strip() for line in lines]


def missing(wanted: list[str], lines: list[str]) -> str:
    """The first of WANTED that LINES do not have, in that order; or ''."""
    rest = iter(lines)
    for want in wanted:
        pattern = _VARIES.sub(lambda match: '[0-9a-f]{16}' if match[1]
                              else '[1-9][0-9]*', re.escape(want))
        if not any(re.fullmatch(pattern, line) for line in rest):
            return want
    return ''


def _result(built: kernel.Built, name: str,
            check: Callable[[], str]) -> ktap.Result:
    """A result of CHECK, which says what is wrong, or refuses."""
    try:
        why = check()
    except env.Refusal as refusal:
        refusal.show()
        why = refusal.found
    return ktap.Result(f'{built.arch}.{built.impl}.{name}',
                       'fail' if why else 'pass', why)


def alone(built: kernel.Built) -> list[ktap.Result]:
    """Each of our modules' folders, by make M= with nothing but its Kbuild."""
    def wrong(folder: Path) -> str:
        kernel.external(built, folder, env.WORK / 'modules'
                        / f'{folder.name}-alone', folder.name)
        return ''
    folders = sorted(
        path.parent for folder, pattern in (
            (env.SELFTESTS, '*/Kbuild'), (env.KPROBES, 'coverage/Kbuild'),
            (env.REPO, 'arch/x86/kprobes/tests/*/Kbuild'))
        for path in folder.glob(pattern))
    return [_result(built, f'alone.{folder.name}', lambda: wrong(folder))
            for folder in folders]


def examples(built: kernel.Built) -> list[ktap.Result]:
    """The modules that README shows do what it says; the results."""
    def wrong(name: str, parameters: str, wanted: list[str]) -> str:
        line = missing(wanted, run(built, EXAMPLES / name, parameters))
        return line and f'it did not say "{line}", or not there'
    return [_result(built, f'example.{name}',
                    lambda: wrong(name, parameters, wanted))
            for name, (parameters, wanted) in zip(NAMES, (
                shown(), ('', shown('template')[1])), strict=True)]
