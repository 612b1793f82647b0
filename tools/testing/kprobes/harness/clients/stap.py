# SPDX-License-Identifier: GPL-2.0
"""SystemTap's scripts for make test-clients, compiled before the guest boots.

stap wants the kernel's build folder, its debugging information and a compiler,
of which the guest has none: there staprun loads what has come of the scripts.
Beside a case clients/stap/NAME.sh lies its script NAME.stp. In its head may
stand what it needs, as
  # options: words for stap
  # inside: FUNCTION     ($1 is the address of an instruction in its middle)
"""

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import env
import procs
import progress
from clients import common
from kernel import Built

FOLDER = common.FOLDER / 'stap'
_RUNTIME = Path('/usr/share/systemtap/runtime')
# Options that make clang compile SystemTap's runtime and the code that stap writes.
_FLAGS = ('-Wno-ignored-optimization-argument', '-Wno-macro-redefined',
          '-Wno-implicit-fallthrough', '-Wno-parentheses-equality',
          '-Wno-sometimes-uninitialized', '-Wno-error=missing-prototypes',
          '-fheinous-gnu-extensions')
# Each script says so when it watches.
_READY = 'global ready probe timer.ms(50) if (!ready) { ready = 1 println("ready") }'
# stap finds the names of the kernel's functions here, wherever it was built;
# nobody else sees this one.
_WITH_SYMBOLS = ('mount -t tmpfs boot /boot; '
                 'ln -s "$1" "/boot/System.map-$2"; shift 2; exec "$@"')


# Names the packages that the archive lacked when the root was made.
WITHOUT = Path('/opt/without')


def require(names: list[str]) -> None:
    """Refuse cases NAMES, if they want SystemTap and the root has none."""
    if any(name.startswith('stap/') for name in names) and WITHOUT.exists():
        others = sorted({name.split('/')[0] for name in names} - {'stap'})
        raise env.Refusal(
            'SystemTap in the toolchain root',
            f'none: when the root was made, {WITHOUT.read_text().strip()} was '
            'not to be had',
            'make distclean and the same command again, or make test-clients '
            f'ARGS="{" ".join(others) or "perf"}"')


def _command(built: Built, name: str, text: str, home: Path) -> list[str]:
    """The call that compiles script NAME, whose TEXT is given."""
    head = common.head(text)
    flags = ' '.join([*_FLAGS, f'-include {FOLDER / "kernel.h"}'])
    words = ['stap', '-p4', '-a', built.machine.kernel,
             *head.get('options', '').split(), '-E', _READY, '-B', 'LLVM=1',
             # Without it the kernel's Makefile leaves out clang's --target.
             '-B', 'CC_VERSION_TEXT=clang', '-B', f'KCFLAGS={flags}',
             '-R', home / 'runtime', '-r', built.obj,
             '-m', f'stap_{name}', FOLDER / f'{name}.stp']
    if 'inside' in head:
        words.append(procs.output(
            [sys.executable, FOLDER.parent / 'inside.py', head['inside'],
             built.obj / 'vmlinux']).strip())
    return [str(word) for word in words]


def _compile(built: Built, name: str, home: Path) -> str:
    """Make stap_NAME.ko beside HOME, stap's own folder; why not, or nothing."""
    script = FOLDER / f'{name}.stp'
    if not script.exists():
        return f'there is no {script.name} beside it'
    # staprun takes a module to be called as its file.
    module = home / f'stap_{name}.ko'
    log = home.parent / f'stap_{name}.log'
    status = procs.run(
        ['unshare', '--mount', '--propagation', 'private', 'sh', '-ec',
         _WITH_SYMBOLS, 'sh', built.obj / 'System.map', built.release,
         *_command(built, name, script.read_text(), home)],
        log, cwd=home, extra={'SYSTEMTAP_DIR': str(home)})
    if status or not module.exists():
        return common.complaint(log)
    module.replace(home.parent / module.name)
    return ''


def prepare(built: Built, names: Iterable[str]) -> tuple[Path, dict[str, str]]:
    """Compile the scripts of those of cases NAMES that have one, for BUILT.

    Returns the folder of the modules stap_NAME.ko, and {case: why none}.
    """
    folder = env.WORK / 'stap' / built.name
    home = env.empty_folder(folder) / 'home'
    scripts = [name for name in names if name.startswith('stap/')]
    if not scripts:
        return folder, {}
    shutil.copytree(_RUNTIME, home / 'runtime')
    # Arm's assembler has a comment that is gcc's alone.
    arith = home / 'runtime/linux/arith.c'
    arith.write_text(arith.read_text().replace('%@ Inlined umul_ppmm', ''))
    failures = {}
    with progress.Stage(f'SystemTap {built.name}', 2) as stage:
        stage.expected = len(scripts)
        for name in scripts:
            failures[name] = _compile(built, name.partition('/')[2], home)
            stage.tick(name)
    return folder, {name: why for name, why in failures.items() if why}
