# SPDX-License-Identifier: GPL-2.0
"""HOST_TOOLS=1: does this machine have what the toolchain root would?

Everything a command needs is asked for its version before it begins, and all
that is wrong is told at once: what was expected, what was found, what to do.
toolchain/packages is the list for the root; this one names programs.
"""

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import env

# rustc's own least version is that of the kernel's scripts/min-tool-version.sh
# for powerpc on all architectures: nobody has built our crate with an older
# one. s390 needs more.
_RUSTC = {'s390x': '1.96.0'}
_RUSTC_LEAST = '1.95.0'
# Older bindgens write wrong bindings with libclang 22.
_BINDGEN = '0.72.1'
_QEMU = '10'
_LLVM_FOLDER = '/usr/lib/llvm-{}/bin'
_EMULATORS = {'x86_64': ('x86_64', 'x86'), 'arm': ('arm', 'arm'),
              'ppc64le': ('ppc64', 'ppc'), 's390x': ('s390x', 's390x')}


@dataclass(frozen=True)
class Tool:
    """A program, the least version of it, the Debian package it is in."""

    name: str
    package: str
    least: str = ''
    for_: tuple = ('build',)


_TOOLS = (
    Tool('cargo', 'cargo', _RUSTC_LEAST, ('rust',)),
    Tool('rustdoc', 'rustc', _RUSTC_LEAST, ('build',)),
    Tool('rustfmt', 'rustfmt', '', ('lint', 'build')),
    # Its version is rustc's with another beginning.
    Tool('clippy-driver', 'rust-clippy', '0.1.95', ('lint', 'build')),
    Tool('cargo-clippy', 'rust-clippy', '0.1.95', ('lint',)),
    Tool('cc', 'gcc libc6-dev', '', ('rust',)),
    Tool('make', 'make', '4.0'),
    Tool('flex', 'flex', '2.5.35'),
    Tool('bison', 'bison', '2.0'),
    Tool('bc', 'bc', '1.06.95'),
    Tool('perl', 'perl', '5'),
    Tool('ccache', 'ccache', '4'),
    Tool('openssl', 'openssl'),
    Tool('rsync', 'rsync', '3'),
    Tool('cmp', 'diffutils'),
    Tool('tar', 'tar', '1.28'),
    Tool('xz', 'xz-utils'),
    Tool('dpkg-deb', 'dpkg'),
    Tool('patch', 'patch', '2', ('build', 'apply')),
    Tool('git', 'git', '2', ('build', 'lint')),
    Tool('cpio', 'cpio', '2', ('build', 'rust')),
    Tool('shellcheck', 'shellcheck', '', ('lint',)),
)
_LLVM = (('clang', 'clang'), ('ld.lld', 'lld'), ('llvm-ar', 'llvm'),
         ('llvm-nm', 'llvm'), ('llvm-objcopy', 'llvm'),
         ('llvm-objdump', 'llvm'), ('llvm-readelf', 'llvm'),
         ('llvm-strip', 'llvm'))
_LIBRARIES = (('elf', 'gelf.h', 'libelf-dev'),
              ('dw', 'elfutils/libdw.h', 'libdw-dev'),
              ('crypto', 'openssl/evp.h', 'libssl-dev'),
              ('z', 'zlib.h', 'zlib1g-dev'))
_MODULES = (('pyflakes', 'pyflakes3'), ('pycodestyle', 'pycodestyle'))
_ALL = ('rust', 'lint', 'build', 'boot')
_COMMANDS = {
    'check': ('rust', 'lint'), 'host-test': ('rust',),
    'host-fuzz': ('rust',), 'host-bench': ('rust',), 'host-miri': ('rust',),
    'kernel': ('rust', 'build'), 'check-kernel': ('rust', 'build'),
    'docs': ('rust', 'build'),
    'series': ('rust', 'build'), 'apply': ('apply',), 'clean': (),
    'test': _ALL, 'test-all': _ALL, 'plan': _ALL, 'selfcheck': _ALL,
}
_BOOTING = ('rust', 'build', 'boot')    # all other commands


def _numbers(version):
    return tuple(int(part) for part in version.split('.'))


def _output(*call):
    """What CALL prints, or None if there is no such program."""
    try:
        done = subprocess.run(call, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, errors='replace',
                              stderr=subprocess.STDOUT, check=False)
    except OSError:
        return None
    return done.stdout


def said(*call):
    """What CALL prints, or that there is no such program."""
    text = _output(*call)
    return 'none' if text is None else text.strip()


def emulators():
    """The names of QEMU's programs, one for each architecture."""
    return [f'qemu-system-{name}' for name, _ in _EMULATORS.values()]


def _version(name):
    """The version of program NAME: '' if it tells none, None without it."""
    text = _output(name, '--version')
    if text is None:
        return None
    match = re.search(r'\d+(\.\d+)+', text)
    return match[0] if match else ''


class _Report:
    """What is wrong, a line for each."""

    def __init__(self):
        self.lines = []

    def add(self, what, expected, found, do):
        """One thing that is not as it has to be."""
        self.lines.append(f'{what}: expected {expected}, found '
                          f'{found or "none"}; {do}')

    def program(self, name, package, least=''):
        """NAME, of version LEAST or later."""
        found = _version(name)
        old = least and found and _numbers(found) < _numbers(least)
        if found is None or old or (least and not found):
            self.add(name, f'{least} or later' if least else 'any version',
                     'one that tells no version' if found == '' else found,
                     f'apt-get install {package}')


def _install(package):
    return f'apt-get install {package}'


def _llvm_of_rustc():
    match = re.search(r'LLVM version: (\d+)', _output('rustc', '-vV') or '')
    return match[1] if match else None


def _rust(report, arches, groups):
    least = max((_RUSTC.get(arch, _RUSTC_LEAST) for arch in arches),
                key=_numbers)
    report.program('rustc', 'rustc (or rustup)', least)
    if 'build' not in groups:
        return
    root = (_output('rustc', '--print', 'sysroot') or '').strip()
    core = Path(root) / 'lib/rustlib/src/rust/library/core/src/lib.rs'
    if not root or not core.exists():
        report.add('rust-src', f'the standard library\'s source, {core}'
                   if root else 'the standard library\'s source', '',
                   'apt-get install rust-src (or rustup component add '
                   'rust-src)')


def _llvm(report, major):
    for name, package in _LLVM:
        found = _version(name)
        if found is None or (major and found.split('.')[0] != major):
            report.add(name, f'{major}.x, the LLVM of rustc -vV'
                       if major else 'the LLVM of rustc -vV', found,
                       _install(f'{package}-{major or "N"}'))


def _bindgen(report, major):
    found = _version('bindgen')
    if not found or _numbers(found) < _numbers(_BINDGEN):
        report.add('bindgen', f'{_BINDGEN} or later', found,
                   f'cargo install --locked bindgen-cli --version {_BINDGEN}')
        return
    with tempfile.NamedTemporaryFile('w', suffix='.h') as header:
        header.write('#pragma message("clang version " __clang_version__)\n')
        header.flush()
        text = _output('bindgen', header.name) or ''
    match = re.search(r'clang version (\d+)', text)
    if major and (not match or match[1] != major):
        report.add('libclang of bindgen', f'{major}.x, the LLVM of rustc -vV',
                   match[1] if match else text.strip()[:80],
                   _install(f'libclang-{major}-dev')
                   + f', or LIBCLANG_PATH=/usr/lib/llvm-{major}/lib')


def _libraries(report):
    compiler = 'clang' if _output('clang', '--version') else 'cc'
    for library, header, package in _LIBRARIES:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / 'x.c'
            program.write_text(f'#include <{header}>\n'
                               'int main(void) { return 0; }\n')
            text = _output(compiler, str(program), f'-l{library}', '-o',
                           f'{folder}/x')
            if not (Path(folder) / 'x').exists():
                last = (text or 'no compiler').strip().splitlines()
                report.add(f'lib{library}', f'<{header}> and -l{library}',
                           f'"{last[0][:80] if last else "nothing"}"',
                           _install(package))


def _machines(report, arches):
    for arch in arches:
        name, package = _EMULATORS[arch]
        name = f'qemu-system-{name}'
        found = _version(name)
        if not found or found.split('.')[0] != _QEMU:
            report.add(name, f'{_QEMU}.x, with which the tests and figures '
                       'were made', found,
                       _install(f'qemu-system-{package}'))


def _arches(command):
    """The architectures that COMMAND will build and boot for."""
    if os.environ.get('ARCH'):
        return [env.choice('ARCH', env.ARCHES, 'x86_64')]
    if command == 'test-all':
        piece = os.environ.get('PIECE') or ''
        return [arch for arch in env.ARCHES
                if not piece or arch in piece.split('-')] or ['x86_64']
    return ['x86_64']


def _own_llvm(major):
    """Debian keeps each LLVM in a folder of its own, under plain names."""
    folder = _LLVM_FOLDER.format(major)
    if os.path.isdir(folder):
        os.environ['PATH'] = f'{folder}:{os.environ["PATH"]}'


def check(command):
    """Refuse what of COMMAND's tools is missing or of the wrong version."""
    groups, arches = _COMMANDS.get(command, _BOOTING), _arches(command)
    report, major = _Report(), None
    if 'rust' in groups:
        _rust(report, arches, groups)
        major = _llvm_of_rustc()
        if major:
            _own_llvm(major)
    for tool in _TOOLS:
        if set(tool.for_) & set(groups):
            report.program(tool.name, tool.package, tool.least)
    if 'lint' in groups:
        for module, package in _MODULES:
            if 'No module' in (_output('python3', '-m', module, '--version')
                               or 'No module'):
                report.add(f'python3 -m {module}', 'any version', '',
                           _install(package))
    if 'build' in groups:
        _llvm(report, major)
        _bindgen(report, major)
        _libraries(report)
    if 'boot' in groups:
        _machines(report, arches)
    if report.lines:
        raise env.Refusal(
            f'what make {command} needs to be on this machine (HOST_TOOLS=1)',
            '\n            '.join(report.lines),
            'mend each as its line says, or leave HOST_TOOLS unset: then a '
            'Debian root with the right ones is made')
