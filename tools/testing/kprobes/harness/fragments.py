# SPDX-License-Identifier: GPL-2.0
"""A kernel's configuration: one of the kernel's own plus our fragments.

The kernel's scripts/kconfig/merge_config.sh merges them. A line of ours that
is not in the result is refused by name.
"""

import hashlib
import re
from collections.abc import Collection, Iterator
from pathlib import Path

import arches
import env
import procs
import toolchain

FOLDER = env.KPROBES / 'config'
_SETTING = re.compile(r'^(?:(CONFIG_\w+)=|# (CONFIG_\w+) is not set$)', re.M)
# A setting that merge_config.sh does not find in the result, and a line that
# Kconfig cannot read.
_LOST = re.compile(r'^WARNING: (?:Value requested for )?(CONFIG_\w+) .*\n'
                   r'Requested value: +(.*)\nActual value: *(.*)$', re.M)
_UNREADABLE = re.compile(r'unexpected data: (.*)$', re.M)
# The fragments that a flavour adds to common, architecture and implementation, if
# these are not that of debugging and its own.
FLAVOURS = {
    'test': ('debug',),
    'labels': ('gcc', 'labels'),
    **{name: (name,) for name in (
        'bench', 'modversions', 'kcfi', 'gcc', 'clients')}}
# The kernel's own configurations below the fragments, if not a defconfig. Kconfig's
# defaults answer the rest of that, "no" that of the tiny ones.
_TINY = ('kernel/configs/tiny-base.config', 'kernel/configs/tiny.config')
# random-N: whatever Kconfig makes of the seed N.
RANDOM = 'random-'


def chosen(arch: str, impl: str, flavour: str) -> list[Path]:
    """The fragments of a kernel, in order."""
    if flavour.startswith(RANDOM):
        return [FOLDER / 'random.config']
    names = []
    for name in ('common', arch, f'impl-{impl}', *FLAVOURS.get(flavour, ('debug', flavour))):
        names.append(name)
        # What an architecture adds, or has to take back, with the reason there.
        if (FOLDER / f'{name}-{arch}.config').exists():
            names.append(f'{name}-{arch}')
    return [FOLDER / f'{name}.config' for name in names]


def settings(paths: list[Path]) -> dict[str, str]:
    """{option: the last of the fragments that sets it}."""
    return {match[1] or match[2]: path.name for path in paths
            for match in _SETTING.finditer(path.read_text())}


def lost(log: str, paths: list[Path], absent: Collection[str]) -> Iterator[str]:
    """The lines of the fragments that a LOG says are not in the result.

    The kernel's own configurations may ask for what ours take back.
    """
    ours = settings(paths)
    for option, line, actual in _LOST.findall(log):
        if option in ours and option not in absent:
            yield (f'{ours[option]}: {line} (the result has {actual or "no such option"})')
    for line in _UNREADABLE.findall(log):
        yield f'{line}: not CONFIG_X=value, nor # CONFIG_X is not set'


def compiler(flavour: str) -> str:
    """The compiler of a flavour's C."""
    return 'gcc' if 'gcc' in FLAVOURS.get(flavour, ()) else 'clang'


def _made_of(tree: Path, paths: list[Path]) -> str:
    """A text that changes with anything that a configuration depends on."""
    kconfig = hashlib.sha256()
    for path in sorted(tree.rglob('Kconfig*')):
        kconfig.update(path.read_bytes())
    return '\n'.join([*(path.read_text() for path in paths),
                      kconfig.hexdigest(), toolchain.identity()])


def _run(command: list, log: Path, tree: Path, environment: dict[str, str]) -> None:
    if procs.run(command, log, cwd=tree, extra=environment, append=True):
        raise env.Refusal('the kernel to configure', procs.tail(log, 12), f'see {env.host(log)}',
                          env.host(log))


def write(tree: Path, obj: Path, arch: str, impl: str, flavour: str,
          make: list[str], absent: Collection[str] = ()) -> None:
    """Configure OBJ, if what its configuration depends on has changed.

    make itself would answer new options of a changed Kconfig by their
    defaults. TREE does not have the options that are ABSENT.
    """
    paths, seed = chosen(arch, impl, flavour), flavour.removeprefix(RANDOM)
    options: list[str] = []
    bases: tuple[str, ...] = ()
    if compiler(flavour) == 'gcc' and arches.of(arch).defconfig:
        bases = (arches.of(arch).defconfig,)
    elif seed == flavour:
        options, bases = ['-n'], _TINY
    stamp = obj / 'config.made-of'
    inputs = _made_of(tree, [*(tree / name for name in bases), *paths])
    if (obj / '.config').exists() and stamp.exists() and stamp.read_text() == inputs:
        return
    stamp.unlink(missing_ok=True)
    log = obj / 'config.log'
    log.unlink(missing_ok=True)
    if seed != flavour:
        _run([*make, f'KCONFIG_ALLCONFIG={paths[0]}', f'KCONFIG_SEED={seed}',
              'randconfig'], log, tree, {})
    # The script calls make without our words.
    words = dict(word.split('=', 1) for word in make if '=' in word)
    _run([tree / 'scripts/kconfig/merge_config.sh', '-Q', '-O', obj, *options,
          *(bases or [obj / '.config']), *paths], log, tree, words)
    missing = list(lost(log.read_text(errors='replace'), paths, absent))
    if missing:
        raise env.Refusal(
            'every line of the config fragments in the kernel\'s .config',
            '\n            '.join(missing),
            'give each symbol what it depends on (see its Kconfig entry), '
            'or drop the line', env.host(log))
    stamp.write_text(inputs)
