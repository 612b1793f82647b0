# SPDX-License-Identifier: GPL-2.0
"""SystemTap's scripts for make test-clients, compiled before the guest boots.

stap wants the kernel's build folder, its debugging information and a compiler,
of which the guest has none: there staprun loads what has come of the scripts.
Beside a case clients/stap/NAME.sh lies its script NAME.stp. In its head may
stand what it needs, as
  # options: words for stap
  # inside: FUNCTION     ($1 is the address of an instruction in its middle)
"""

import hashlib
import os
import re
import shutil
import sys
from pathlib import Path

import env
import heads
import procs
import progress

FOLDER = env.KPROBES / 'clients/stap'
# What clang warns of in SystemTap's runtime and in what it writes, which is an
# error there.
_FLAGS = ('-Wno-ignored-optimization-argument', '-Wno-macro-redefined',
          '-Wno-implicit-fallthrough', '-Wno-parentheses-equality',
          '-Wno-sometimes-uninitialized')
_MODULE = re.compile(r'\bmodule\("(\w+)"\)')
_BUILD = re.compile(r'Build ID: (\w+)')
_ERROR = re.compile(r'(?:\w+ )?error: |.*: (?:fatal )?error: |ERROR: ')
# stap finds the names of the kernel's functions here, wherever it was built;
# nobody else sees this one.
_WITH_SYMBOLS = ('mount -t tmpfs boot /boot; ln -s "$1" "/boot/System.map-$2"; '
                 'shift 2; exec "$@"')


# What the toolchain root lacks, where the archive was being updated.
WITHOUT = Path('/opt/without')


def require(names: list[str]) -> None:
    """Refuse cases NAMES, if they want SystemTap and the root has none."""
    if any(name.startswith('stap/') for name in names) and WITHOUT.exists():
        others = sorted({name.split('/')[0] for name in names} - {'stap'})
        raise env.Refusal(
            'SystemTap in the toolchain root',
            f'none: when the root was made, {WITHOUT.read_text().strip()} was '
            'not to be had',
            'make distclean and the same command again, which makes the root '
            'anew; or without those cases: make test-clients '
            f'ARGS="{" ".join(others) or "perf"}"')


def _kept(built):
    return env.WORK / 'stap' / built.name


def _build_id(path):
    match = _BUILD.search(procs.output(['llvm-readelf', '--notes', path]))
    if not match:
        raise env.Refusal('a kernel with a build id, by which it is known',
                          f'none in {env.host(path)}',
                          'see what the linker is called with')
    return match[1]


def command(built, name, text):
    """The call that compiles script NAME, whose TEXT is given, for BUILT."""
    head = heads.of(text)
    flags = ' '.join([*_FLAGS, f'-include {FOLDER / "kernel.h"}'])
    words = ['stap', '-p4', *head.get('options', '').split(),
             '-B', 'LLVM=1', '-B', f'KCFLAGS={flags}', '-r', built.obj,
             '-m', f'stap_{name}', FOLDER / f'{name}.stp']
    if 'inside' in head:
        words.append(procs.output(
            [sys.executable, FOLDER.parent / 'inside.py', head['inside'],
             built.obj / 'vmlinux']).strip())
    return [str(word) for word in words]


def _made_of(built, text, words, kernel):
    """What all that goes into a script's module becomes as one word."""
    parts = [text, ' '.join(words), kernel,
             (FOLDER / 'kernel.h').read_text()]
    # A module may be another one without the kernel being so.
    for name in sorted(set(_MODULE.findall(text))):
        parts += [_build_id(path) for path in sorted(built.obj.rglob('*.ko'))
                  if path.stem.replace('-', '_') == name]
    return hashlib.sha256('\0'.join(parts).encode()).hexdigest()


def complaint(log):
    """The line of a log of stap that tells first what was wrong."""
    # Behind the call itself.
    lines = [line.strip() for line in
             log.read_text(errors='replace').splitlines()[1:] if line.strip()]
    return next((line for line in lines if _ERROR.match(line)),
                lines[-1] if lines else 'no word')[:300]


def _compile(built, words, log, home):
    """Make a module beside LOG and of its name; what was wrong, or nothing."""
    part = home / log.with_suffix('.ko').name
    part.unlink(missing_ok=True)
    status = procs.run(
        ['unshare', '--mount', '--propagation', 'private', 'sh', '-ec',
         _WITH_SYMBOLS, 'sh', built.obj / 'System.map', built.release, *words],
        log, cwd=home, extra={'SYSTEMTAP_DIR': str(home)})
    if status or not part.exists():
        if procs.no_space(env.WORK):
            raise procs.full_disk(env.WORK)
        return complaint(log)
    os.replace(part, log.with_suffix('.ko'))
    return ''


def prepare(built, names):
    """Compile the scripts of those of cases NAMES that have one, for BUILT.

    Returns the folder of the modules stap_NAME.ko, and {case: why it has none}.
    """
    folder = _kept(built)
    scripts = [name.partition('/')[2] for name in names
               if name.startswith('stap/')]
    if not scripts:
        folder.mkdir(parents=True, exist_ok=True)
        return folder, {}
    kernel = _build_id(built.obj / 'vmlinux')
    # What stap has found out about a kernel's headers it keeps here.
    home = folder / f'of-{kernel}'
    if not home.exists():
        shutil.rmtree(folder, ignore_errors=True)
        home.mkdir(parents=True)
    without = {}
    with progress.Stage(f'SystemTap {built.name}', 2, varies=True) as stage:
        stage.expected = len(scripts)
        for name in scripts:
            why = _one(built, name, folder, home, kernel)
            if why:
                without[f'stap/{name}'] = why
            stage.tick(name)
    return folder, without


def _one(built, name, folder, home, kernel):
    """See to it that stap_NAME.ko is that of the script as it is; or why not."""
    path = FOLDER / f'{name}.stp'
    if not path.exists():
        return f'there is no {path.name} beside it'
    text = path.read_text()
    words = command(built, name, text)
    # staprun takes a module to be called as its file.
    made = folder / f'stap_{name}.ko'
    log, stamp = made.with_suffix('.log'), made.with_suffix('.of')
    now = _made_of(built, text, words, kernel)
    if made.exists() and stamp.exists() and stamp.read_text() == now:
        return ''
    stamp.unlink(missing_ok=True)
    made.unlink(missing_ok=True)
    why = _compile(built, words, log, home)
    if not why:
        stamp.write_text(now)
    return why
