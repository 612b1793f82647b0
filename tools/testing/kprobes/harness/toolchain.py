# SPDX-License-Identifier: GPL-2.0
"""The tools that are not packages, and the check of a machine's own."""

import os
import re
import shutil
import subprocess

import env
import procs
import progress

BINDGEN = '0.72.1'
# What HOST_TOOLS=1 needs, and how the version is asked for.
_NEEDED = {
    'rustc': (['rustc', '--version'], (1, 95)),
    'clang': (['clang', '--version'], (17, 0)),
    'ld.lld': (['ld.lld', '--version'], (17, 0)),
    'bindgen': (['bindgen', '--version'], (0, 71)),
    'make': (['make', '--version'], (4, 0)),
    'qemu-system-x86_64': (['qemu-system-x86_64', '--version'], (8, 0)),
    'flex': (['flex', '--version'], (2, 5)),
    'bison': (['bison', '--version'], (2, 0)),
    'bc': (['bc', '--version'], (1, 0)),
    'cpio': (['cpio', '--version'], (2, 0)),
    'rsync': (['rsync', '--version'], (3, 0)),
    'patch': (['patch', '--version'], (2, 0)),
}


def _version(call):
    try:
        text = subprocess.run(call, capture_output=True, text=True,
                              check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    match = re.search(r'(\d+)\.(\d+)', text)
    return (int(match[1]), int(match[2])) if match else None


def _llvm_of(call):
    text = subprocess.run(call, capture_output=True, text=True,
                          check=False).stdout
    match = re.search(r'(?:LLVM version|clang version):? (\d+)', text)
    return match[1] if match else '?'


def _host_tools():
    wrong = []
    for name, (call, least) in _NEEDED.items():
        found = _version(call)
        if found is None:
            wrong.append(f'{name}: not found')
        elif found < least:
            wrong.append(f'{name}: {found[0]}.{found[1]}, needs '
                         f'{least[0]}.{least[1]}')
    if wrong:
        raise env.Refusal('the tools for HOST_TOOLS=1 on this machine',
                          '\n            '.join(wrong),
                          'install them, or leave HOST_TOOLS unset: then a '
                          'Debian root with the right ones is made')
    rust, clang = _llvm_of(['rustc', '-vV']), _llvm_of(['clang', '--version'])
    if rust != clang:
        raise env.Refusal('rustc and clang of one LLVM major '
                          '(CONFIG_RUST_INLINE_HELPERS)',
                          f'rustc has {rust}, clang {clang}',
                          'install a matching pair, or leave HOST_TOOLS '
                          'unset')


def _bindgen():
    """bindgen of the version that fits libclang, built once."""
    rustc = procs.output(['rustc', '--version']).split()[1]
    home = env.CACHE / f'bindgen-{BINDGEN}-rustc-{rustc}'
    tool = home / 'bin' / 'bindgen'
    if not tool.exists():
        with procs.alone('bindgen'):
            if not tool.exists():
                _make_bindgen(home)
    if str(tool.parent) not in os.environ['PATH'].split(':'):
        os.environ['PATH'] = f'{tool.parent}:{os.environ["PATH"]}'


def _make_bindgen(home):
    with progress.Stage('bindgen', 1.5) as stage:
        log = env.LOGS / 'bindgen.log'
        part = home.with_suffix('.part')
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
                f'cargo to build bindgen-cli {BINDGEN}',
                procs.tail(log, 6),
                'is the crate registry reachable (proxy variables)? '
                f'Whole log: {env.host(log)}')
        shutil.rmtree(home, ignore_errors=True)
        part.rename(home)
        shutil.rmtree(env.WORK / 'bindgen-build', ignore_errors=True)


def ready():
    """Everything the builds call is in PATH."""
    if env.HOST_TOOLS:
        _host_tools()
    else:
        _bindgen()
