# SPDX-License-Identifier: GPL-2.0
"""The tools that are not packages, and the check of a machine's own."""

import os
import shutil
import subprocess

import env
import hosttools
import packages
import procs
import progress
import source

BINDGEN = '0.72.1'


def _bindgen():
    """Put the bindgen that fits libclang into PATH, fetched or built once."""
    home = env.CACHE / f'bindgen-{BINDGEN}'
    if not (home / 'bin/bindgen').exists():
        with procs.alone('bindgen'):
            if not (home / 'bin/bindgen').exists():
                _make_bindgen(home)
    if f'{home}/bin' not in os.environ['PATH'].split(':'):
        os.environ['PATH'] = f'{home}/bin:{os.environ["PATH"]}'


def _make_bindgen(home):
    with progress.Stage('bindgen', 1.5) as stage:
        part = home.parent / f'{home.name}.part'
        shutil.rmtree(part, ignore_errors=True)
        try:
            _packaged(part)
        except (env.Refusal, OSError, subprocess.CalledProcessError) as why:
            progress.say(f'bindgen is built by cargo: {why}')
            _built_by_cargo(part, stage)
        shutil.rmtree(home, ignore_errors=True)
        part.rename(home)


def _packaged(part):
    """Debian's bindgen in PART/bin, if it is of our version and runs."""
    package = packages.fetch('bindgen:amd64', env.CACHE / 'bindgen',
                             ('forky',), '')
    part.mkdir()
    procs.output(['dpkg-deb', '--extract', package, part / 'unpacked'])
    (part / 'unpacked/usr/bin').rename(part / 'bin')
    version = procs.output([part / 'bin/bindgen', '--version']).split()[-1]
    if version != BINDGEN:
        shutil.rmtree(part)
        raise OSError(f'Debian has {version} now, not {BINDGEN}')


def _built_by_cargo(part, stage):
    log = env.LOGS / 'bindgen.log'
    shutil.rmtree(part, ignore_errors=True)
    status = procs.run(
        ['cargo', 'install', '--locked', '--root', part,
         'bindgen-cli', '--version', BINDGEN], log,
        extra={'CARGO_HOME': str(env.CACHE / 'cargo'),
               'CARGO_TARGET_DIR': str(env.WORK / 'bindgen-build'),
               'CARGO_PROFILE_RELEASE_OPT_LEVEL': '1',
               'CARGO_PROFILE_RELEASE_LTO': 'off',
               'CARGO_TERM_COLOR': 'never'},
        on_line=lambda line: stage.tick(line.strip(), int(
            line.lstrip().startswith('Compiling'))))
    if status:
        if procs.no_space(env.CACHE):
            raise procs.full_disk(env.CACHE)
        raise env.Refusal(
            f'bindgen {BINDGEN} as Debian\'s package, or built by cargo',
            procs.tail(log, 6),
            'are Debian\'s archive and the crate registry reachable (proxy '
            f'variables)? Whole log: {env.host(log)}')
    shutil.rmtree(env.WORK / 'bindgen-build', ignore_errors=True)


def require(command):
    """Refuse to begin COMMAND with the wrong tools of this machine."""
    if env.HOST_TOOLS:
        hosttools.check(command)


# What compiles, links and runs what is tested, and how each tells its version.
_TOLD = (('rustc', '-vV'), ('cargo', '--version'), ('clang', '--version'),
         ('ld.lld', '--version'), ('gcc', '--version'), ('ld', '--version'),
         *((name, '--version') for name in hosttools.emulators()))


def identity():
    """Which tools are at work: the root's or the machine's, and of what version.

    A tool that is not there is told as such: it might come.
    """
    found = [f'HOST_TOOLS={int(env.HOST_TOOLS)}',
             hosttools.said('bindgen', '--version') if env.HOST_TOOLS
             else f'bindgen {BINDGEN}']
    found += [f'{call[0]}: {hosttools.said(*call)}' for call in _TOLD]
    return '\n'.join(found)


def ready():
    """Everything the builds call is in PATH."""
    if env.HOST_TOOLS:
        hosttools.rust_available(source.tree())
    else:
        _bindgen()
