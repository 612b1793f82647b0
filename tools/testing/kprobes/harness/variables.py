# SPDX-License-Identifier: GPL-2.0
"""The variables of the command line, all looked at before anything begins.

A wrong one is refused whatever the command, also where it would not be used:
who gives it has something in mind that is not going to happen.
"""

import os
import re

import arches as records
import env
import source

_OF_EVERY_KERNEL = {'test-all': ('ARCH', 'IMPL'), 'series': ('ARCH', 'IMPL'), 'coverage': ('IMPL',)}
# {variable: the commands that read it}, where others would ignore it.
_READ_BY = {'ARGS': ('storm', 'module', 'test-clients', 'host-fuzz'),
            'TEST': ('host-test', 'kunit', 'selftest')}
# Words for a storm besides its seconds.
_OF_A_STORM = ('piecewise', 'returns')


def arch() -> str:
    """The architecture asked for."""
    return env.choice('ARCH', env.ARCHES, env.ARCHES[0])


def arches() -> list[str]:
    """The architectures of make test: ARCH=, or all with a back end of ours."""
    if os.environ.get('ARCH') == 'all':
        return list(env.ARCHES)
    if os.environ.get('ARCH'):
        return [arch()]
    return list(env.SUPPORTED)


def impl_in(of: str) -> str:
    """The implementation that make test is to test on the architecture OF."""
    if os.environ.get('ARCH') == 'all' and not os.environ.get('IMPL'):
        return shown(of)
    return impl(of)


def impl(of: str, default: str = 'rust') -> str:
    """The implementation asked for, if the architecture OF has it."""
    chosen = env.choice('IMPL', env.IMPLS, default)
    if chosen == 'rust' and of not in env.SUPPORTED:
        raise env.Refusal(
            f'IMPL=c for {of}', 'IMPL=rust' if os.environ.get('IMPL')
            else 'no IMPL, which means rust',
            f'make … ARCH={of} IMPL=c: {of} has no back end of ours yet; '
            f'supported: {", ".join(env.SUPPORTED)}')
    return chosen


def shown(of: str) -> str:
    """The implementation to boot for somebody to look at: ours if OF has it."""
    return impl(of, 'rust' if of in env.SUPPORTED else 'c')


def _check_command(name: str) -> None:
    if name in ('bench', 'bench-quick'):
        from bench import rows
        rows.of_arch(arch())
    given = [variable for variable in _OF_EVERY_KERNEL.get(name, ()) if os.environ.get(variable)]
    if given:
        raise env.Refusal(
            f'no {" and no ".join(given)}: make {name} has kernels of its own',
            ', '.join(f'{variable}={os.environ[variable]}' for variable in given),
            'make test-all PIECE=c-arm runs one kernel of the matrix; '
            'PIECE=x names them all')
    if name in ('storm', 'coverage') and not records.of(arch()).back_end:
        raise env.Refusal(
            f'an architecture that has a {name}', f'ARCH={arch()}',
            f'make {name}; for others there is '
            f'make test ARCH={arch()} IMPL=c')
    if name == 'host-fuzz' and not re.fullmatch('[0-9]*', os.environ.get('ARGS', '')):
        raise env.Refusal('ARGS= a number of strings', os.environ['ARGS'],
                          f'make {name} ARGS=50000000')
    if name in ('check-kernel', 'docs') and impl(arch()) != 'rust':
        raise env.Refusal('IMPL=rust: this is about our own code', 'IMPL=c', f'make {name}')


def _check_piece() -> None:
    import matrix
    every = matrix.pieces()
    wanted = os.environ.get('PIECE')
    if wanted and wanted not in every:
        raise env.Refusal('PIECE= one of ' + ', '.join(every), wanted,
                          'make test-all PIECE=' + next(iter(every)))


def _refuse_unread(name: str) -> None:
    """Refuse a variable that the command NAME does not read."""
    for variable, commands in _READ_BY.items():
        value = os.environ.get(variable)
        if value and name not in commands:
            raise env.Refusal(
                f'no {variable}: make {name} reads none',
                f'{variable}={value}',
                'leave it out; what reads it is make ' + ', make '.join(commands))


def _check_module_folder() -> None:
    assert env.MODULE, 'kp refuses to go on without DIR='
    path = next((env.MODULE / name for name in ('Kbuild', 'Makefile')
                 if (env.MODULE / name).is_file()), None)
    if not path:
        raise env.Refusal(
            f'a Kbuild or Makefile in {env.host(env.MODULE)}',
            'neither', 'add a file Kbuild with the line obj-m := name.o, for '
            'name.c or name.rs')
    text = path.read_text()
    for name in re.findall(r'([\w-]+)\.o\b', ' '.join(
            re.findall('^obj-m *[:+]?= *([^#\n]*)', text, re.M))):
        # Parts and rules of its own are for the build to look at.
        if not re.search(rf'^{name}-|\b{name}\.[cSr]|%', text, re.M) \
                and not any(env.MODULE.glob(f'{name}.[cSro]*')):
            raise env.Refusal(
                f'{name}.c or {name}.rs in {env.host(env.MODULE)}: {path.name} '
                f'names {name}.o', 'neither', f'change {path.name}, or call the file so')


def storm() -> tuple[int, bool, bool]:
    """(seconds, interrupts anywhere?, return probes alone?), out of ARGS."""
    words = os.environ.get('ARGS', '').split()
    numbers = [word for word in words if word not in _OF_A_STORM]
    if len(numbers) > 1 or len(set(words)) < len(words) or not all(
            re.fullmatch('[0-9]+', word) and int(word) for word in numbers):
        raise env.Refusal('ARGS= seconds above 0, piecewise, returns, or some '
                          'of these', ' '.join(words),
                          'make storm ARGS="600 piecewise"')
    piecewise, returns = (word in words for word in _OF_A_STORM)
    return int(numbers[0]) if numbers else 60, piecewise, returns


def check(name: str) -> None:
    """Refuse to begin the command NAME with a variable that is wrong."""
    if not (name == 'test' and os.environ.get('ARCH') == 'all'):
        arch()
    env.choice('IMPL', env.IMPLS, 'rust')
    env.jobs()
    _check_piece()
    seed = os.environ.get('SEED') or '1'
    if not (re.fullmatch('[0-9]+', seed) and int(seed) < 1 << 64):
        raise env.Refusal('SEED= a number below 2^64', seed, f'make {name} SEED=7')
    _refuse_unread(name)
    if not re.fullmatch(r'[\w.:*-]*', os.environ.get('TEST', '')):
        raise env.Refusal(
            'TEST= the name of a test, with * for anything',
            os.environ['TEST'], 'make selftest TEST=modules.R10_*')
    # kp has made sure that KSRC and DIR are folders.
    if env.KSRC:
        source.require_version(env.KSRC, 'KSRC')
    if name == 'module':
        _check_module_folder()
    if name == 'storm':
        storm()
    _check_command(name)
