# SPDX-License-Identifier: GPL-2.0
"""HOST_TOOLS=1: does this machine have what the toolchain root would?

All that a command lacks is told at once, before it begins. toolchain/packages
is the list for the root; this one names programs. What the kernel asks of
Rust's tools, its own `make rustavailable` looks at, once there is a tree.
"""

import os
import re
import subprocess

import arches
import env
import procs

# Nobody has built our crate with an older rustc, nor measured with another
# QEMU; older bindgens write wrong bindings with libclang 22.
_LEAST = {'rustc': '1.95.0', 'bindgen': '0.72.1'}
_QEMU = '10'
_LLVM_FOLDER = '/usr/lib/llvm-{}/bin'
# The programs of each group, as program=package where these differ.
_PROGRAMS = {
    'rust': 'rustc cargo cc=gcc cpio',
    'lint': 'rustfmt clippy-driver=rust-clippy cargo-clippy=rust-clippy git '
            'shellcheck',
    'build': 'rustdoc=rustc rustfmt clippy-driver=rust-clippy bindgen make '
             'flex bison bc perl ccache openssl rsync cmp=diffutils tar '
             'xz=xz-utils dpkg-deb=dpkg patch git cpio',
    'apply': 'patch',
    'boot': '',
}
_LLVM = ('clang=clang ld.lld=lld llvm-ar=llvm llvm-nm=llvm llvm-objcopy=llvm '
         'llvm-objdump=llvm llvm-readelf=llvm llvm-strip=llvm')
# Packages that are no programs: a command that fails without them.
_OTHERS = {
    'lint': {'pyflakes3': 'python3 -m pyflakes --version',
             'pycodestyle': 'python3 -m pycodestyle --version'},
    'build': {package: f'cc -E -include {header} -x c /dev/null'
              for package, header in (
                  ('libelf-dev', 'gelf.h'), ('libdw-dev', 'elfutils/libdw.h'),
                  ('libssl-dev', 'openssl/evp.h'), ('zlib1g-dev', 'zlib.h'))},
}
_OTHERS['build']['rust-src'] = (
    'root=$(rustc --print sysroot) && '
    'test -e "$root/lib/rustlib/src/rust/library/core/src/lib.rs"')
_ALL = ('rust', 'lint', 'build', 'boot')
_GROUPS = {
    'check': ('rust', 'lint'), 'host-test': ('rust',),
    'host-fuzz': ('rust',), 'host-bench': ('rust',), 'host-miri': ('rust',),
    'kernel': ('rust', 'build'), 'check-kernel': ('rust', 'build'),
    'docs': ('rust', 'build'),
    'series': ('rust', 'build'), 'apply': ('apply',), 'clean': (),
    'test': _ALL, 'test-all': _ALL,
}
_BOOTING = ('rust', 'build', 'boot')    # all other commands


def _output(*call):
    """What CALL prints, or None if there is no such program."""
    try:
        return subprocess.run(call, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, errors='replace',
                              stderr=subprocess.STDOUT, check=False).stdout
    except OSError:
        return None


def said(*call):
    """What CALL prints, or that there is no such program."""
    text = _output(*call)
    return 'none' if text is None else text.strip()


def emulators():
    """The names of QEMU's programs, one for each architecture."""
    return [arches.of(name).qemu[0] for name in arches.NAMES]


def _wrong(name: str, package: str, least: str = '',
           major: str = '') -> list[str]:
    """A line if program NAME is not there, or of a version that will not do."""
    text = _output(name, '--version')
    match = re.search(r'\d+(\.\d+)+', text or '')
    version, wanted = (list(map(int, re.findall(r'\d+', numbers))) for numbers
                       in (match[0] if match else '', major or least))
    if text is not None and (version[:1] == wanted if major
                             else version >= wanted):
        return []
    return _line(name, f'{major}.x' if major else f'{least} or later' if least
                 else 'any version', match[0] if match else 'none', package)


def _line(name, expected, version, package):
    return [f'{name}: expected {expected}, found {version}; apt-get install '
            f'{package}']


def _llvm() -> list[str]:
    """What is wrong with LLVM's programs, which rustc's LLVM decides."""
    match = re.search(r'LLVM version: (\d+)', _output('rustc', '-vV') or '')
    major = match[1] if match else ''
    folder = _LLVM_FOLDER.format(major)
    # Debian keeps each LLVM in a folder of its own, under plain names.
    if os.path.isdir(folder):
        os.environ['PATH'] = f'{folder}:{os.environ["PATH"]}'
    return [line for name, package in _pairs(_LLVM)
            for line in _wrong(name, f'{package}-{major or "N"}', major=major)]


def _pairs(text):
    for word in text.split():
        name, _, package = word.partition('=')
        yield name, package or name


def _arches(command):
    """The architectures that COMMAND will build and boot for."""
    if os.environ.get('ARCH'):
        return [env.choice('ARCH', env.ARCHES, 'x86_64')]
    if command == 'test-all':
        piece = os.environ.get('PIECE') or ''
        return [arch for arch in env.ARCHES
                if not piece or arch in piece.split('-')] or ['x86_64']
    return ['x86_64']


def check(command):
    """Refuse what of COMMAND's tools is missing or of the wrong version."""
    groups, lines = _GROUPS.get(command, _BOOTING), []
    for name, package in dict(pair for group in groups for pair in
                              _pairs(_PROGRAMS[group])).items():
        lines += _wrong(name, package, _LEAST.get(name, ''))
    for package, call in [pair for group in groups for pair in
                          _OTHERS.get(group, {}).items()]:
        if subprocess.run(call, shell=True, capture_output=True,
                          check=False).returncode:
            lines += _line(package, f'success of {call}', 'none', package)
    if 'build' in groups:
        lines += _llvm()
    if 'boot' in groups:
        for machine in map(arches.of, _arches(command)):
            lines += _wrong(machine.qemu[0], machine.emulator, major=_QEMU)
    if lines:
        raise env.Refusal(
            f'what make {command} needs to be on this machine (HOST_TOOLS=1)',
            '\n            '.join(lines),
            'mend each as its line says (rustup and cargo install do as '
            'well), or leave HOST_TOOLS unset: then a Debian root with the '
            'right ones is made')


def rust_available(tree):
    """Refuse what the kernel in TREE does not want to build Rust with."""
    log = env.LOGS / 'rustavailable.log'
    with procs.scratch() as scratch:
        status = procs.run(['make', '-sC', tree, f'O={scratch}', 'LLVM=1',
                            'rustavailable'], log)
    # What it only warns of, a libclang that is not clang's, is wrong as well.
    lines = [line for line in log.read_text(errors='replace').splitlines()[1:]
             if line.startswith('***')]
    if status or lines:
        raise env.Refusal('Rust tools that the kernel takes (HOST_TOOLS=1)',
                          '\n            '.join(lines) or procs.tail(log, 5),
                          'mend that (LIBCLANG_PATH= chooses a libclang), or '
                          'leave HOST_TOOLS unset')
