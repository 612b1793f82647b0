# SPDX-License-Identifier: GPL-2.0
"""A kernel's configuration: the tiny configs plus our fragments.

allnoconfig with the fragments as its answers, or, for some flavours, another
of the kernel's own. A line of ours that is not in the result is an error that
names it.
"""

import hashlib
import os
import pathlib
import re

import env
import procs

FOLDER = env.KPROBES / 'config'
_LINE = re.compile(r'(CONFIG_\w+)=(.*)$|# (CONFIG_\w+) is not set$')
# What a flavour adds to common, architecture and implementation.
FLAVOURS = {
    'test': ('debug',),
    'bench': ('bench',),
    'kasan': ('debug', 'kasan'),
    'modversions': ('modversions',),
    'kcfi': ('kcfi',),
    'up': ('debug', 'up'),
    'nomodules': ('debug', 'nomodules'),
    'noftrace': ('debug', 'noftrace'),
    'nodebugfs': ('debug', 'nodebugfs'),
    'nosysctl': ('debug', 'nosysctl'),
    'lazy': ('debug', 'lazy'),
    'rt': ('debug', 'rt'),
    'gcc': ('gcc',),
    'labels': ('gcc', 'labels'),
    'framepointer': ('debug', 'framepointer'),
    'thumb2': ('debug', 'thumb2'),
    'clients': ('clients',),
}
# What is below the fragments, and what answers where they say nothing; and
# where a fragment wants something else.
_TINY = (('kernel/configs/tiny-base.config', 'kernel/configs/tiny.config'),
         'allnoconfig')
_BASES = {
    'gcc': (('arch/x86/configs/x86_64_defconfig',), 'alldefconfig'),
}
# random-N: whatever Kconfig makes of the seed N.
RANDOM = 'random-'


def _setting(line):
    """(symbol, value) of a line, or None."""
    match = _LINE.match(line)
    return match and (match[1] or match[3], match[2] or 'n')


def chosen(arch, impl, flavour):
    """The fragments of a kernel, in order."""
    if flavour.startswith(RANDOM):
        return [FOLDER / 'random.config']
    if flavour not in FLAVOURS:
        raise env.Refusal(f'a flavour out of {", ".join(FLAVOURS)}', flavour,
                          'see tools/testing/kprobes/config')
    names = ['common', arch, f'impl-{impl}']
    for name in FLAVOURS[flavour]:
        names.append(name)
        # What an architecture has to take back of it, with the reason there.
        if (FOLDER / f'{name}-{arch}.config').exists():
            names.append(f'{name}-{arch}')
    return [FOLDER / f'{name}.config' for name in names]


def lines(paths):
    """{symbol: (line, value, where)}; a later fragment has the last word."""
    wanted = {}
    for path in paths:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if setting := _setting(line):
                wanted[setting[0]] = (line, setting[1],
                                      f'{path.name}:{number}')
            elif line and not line.startswith('#'):
                raise env.Refusal(
                    'CONFIG_X=value or # CONFIG_X is not set',
                    f'{path.name}:{number}: {line}', 'mend that line')
    return wanted


def verify(wanted, config):
    """Refuse lines that did not stick."""
    got = {}
    for line in config.read_text().splitlines():
        if setting := _setting(line):
            got[setting[0]] = setting[1]
    lost = [f'{where}: {line} (the result has '
            f'{symbol}={got.get(symbol, "n")})'
            for symbol, (line, value, where) in wanted.items()
            if got.get(symbol, 'n') != value]
    if lost:
        raise env.Refusal(
            'every line of the config fragments in the kernel\'s .config',
            '\n            '.join(lost),
            'give each symbol what it depends on (see its Kconfig entry), '
            'or drop the line')


def compiler(flavour):
    """Who compiles the C of a flavour."""
    return 'gcc' if 'gcc' in FLAVOURS.get(flavour, ()) else 'clang'


def _base(flavour):
    """The files below the fragments, the target, what it is told."""
    if flavour.startswith(RANDOM):
        seed = flavour.removeprefix(RANDOM)
        return (), 'randconfig', [f'KCONFIG_SEED={seed}']
    names = FLAVOURS.get(flavour, ())
    found = (_BASES[name] for name in names if name in _BASES)
    return *next(found, _TINY), []


def _options(tree):
    """A comment that is another one whenever TREE offers other options."""
    digest = hashlib.sha256()
    for folder, inner, names in os.walk(tree):
        inner.sort()
        for name in sorted(names):
            if name.startswith('Kconfig'):
                digest.update(pathlib.Path(folder, name).read_bytes())
    return f'# Kconfig: {digest.hexdigest()}\n'


def write(tree, obj, arch, impl, flavour, make, absent=()):
    """Configure OBJ if its fragments changed, or what they answer.

    The kernel's own make would ask an old .config's new options with their
    defaults: other ones than a new .config has. The symbols that are ABSENT
    from this tree are left out of the fragments.
    """
    base, target, told = _base(flavour)
    paths = chosen(arch, impl, flavour)
    for path in paths:
        if not path.exists():
            raise env.Refusal(f'the fragment {path.name}', 'no such file',
                              f'add it to {env.host(FOLDER)}')
    wanted = {symbol: line for symbol, line in lines(paths).items()
              if symbol not in absent}
    answers = ''.join((tree / name).read_text() for name in base)
    answers += '\n'.join(line for line, _, _ in wanted.values()) + '\n'
    answers += _options(tree)
    kept = obj / 'answers.config'
    config = obj / '.config'
    if not (config.exists() and kept.exists()
            and kept.read_text() == answers):
        kept.unlink(missing_ok=True)
        fresh = obj / 'answers.part'
        fresh.write_text(answers)
        log = obj / 'config.log'
        status = procs.run([*make, f'KCONFIG_ALLCONFIG={fresh}', *told,
                            target], log, cwd=tree)
        if status:
            if procs.no_space(obj):
                raise procs.full_disk(obj)
            raise env.Refusal('the kernel to configure',
                              procs.tail(log, 12),
                              f'see {env.host(log)}')
        verify(wanted, config)
        fresh.replace(kept)
    return config, wanted
