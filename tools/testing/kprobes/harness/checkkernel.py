# SPDX-License-Identifier: GPL-2.0
"""make check-kernel: what only a built kernel can show."""

import re

import env
import kernel
import procs
import progress
from ktap import Result


def _call(name, command, **options):
    log = env.LOGS / f'check-kernel-{name}.log'
    status = procs.run(command, log, **options)
    return log, status


def _result(name, log, status):
    return Result(f'check-kernel.{name}', 'fail' if status else 'pass',
                  procs.tail(log, 20) if status else '')


def _objects(built):
    """Our objects of the kernel build."""
    return sorted(path for folder in ('rust/kprobes', 'arch/x86/kprobes')
                  for path in (built.obj / folder).rglob('*.o'))


def _clippy(built):
    """Our files under CLIPPY=1, in the kernel's own configuration."""
    command = kernel.make_command(built.arch, built.obj, built.tree)
    for path in (built.obj / 'rust/kprobes').glob('rust_kprobes*.o'):
        path.unlink()
    log, status = _call('clippy', [*command, 'CLIPPY=1', 'rust/kprobes/'],
                        extra=kernel.environment())
    text = log.read_text(errors='replace')
    ours = re.findall(r'^(?:warning|error).*\n +--> \S*kprobes\S*', text, re.M)
    if ours and not status:
        return Result('check-kernel.clippy', 'fail', '; '.join(ours[:5]))
    return _result('clippy', log, status)


def _rustdoc(built):
    flags = ['--document-private-items', '--edition=2021',
             '-Zunstable-options', '--extern', 'kernel', '--extern',
             'pin_init', '--extern', 'zerocopy',
             '-L', built.obj / 'rust', '--sysroot=/dev/null',
             '--crate-type', 'rlib', '-Drustdoc::all',
             '-Arustdoc::private_intra_doc_links',
             '-Arustdoc::unescaped_backticks',
             '-Arustdoc::missing_crate_level_docs',
             '-Arustdoc::private_doc_tests',
             '-Arustdoc::missing_doc_code_examples',
             '-Zcrate-attr=no_std', '-Zcrate-attr=feature'
             '(arbitrary_self_types,asm_goto,generic_arg_infer,'
             'used_with_arg)',
             f'@{built.obj}/include/generated/rustc_cfg',
             f'--target={built.obj}/scripts/target.json',
             '-o', env.WORK / 'rustdoc']
    log, status = _call(
        'rustdoc', ['rustdoc', *flags,
                    built.tree / 'rust/kprobes/rust_kprobes.rs'],
        extra={'RUSTC_BOOTSTRAP': '1', 'OBJTREE': str(built.obj)},
        cwd=built.obj)
    return _result('rustdoc', log, status)


def run(built):
    """All checks of a built kernel."""
    found = []
    with progress.Stage(f'check-kernel {built.arch}', 1):
        log, status = _call(
            'hit-path', ['python3', env.KPROBES / 'check-hit-path.py',
                         built.obj / 'vmlinux'])
        found.append(_result('hit-path', log, status))
        log, status = _call(
            'text', ['python3', env.KPROBES / 'check-hit-path.py',
                     '--text-of', built.obj / 'rust/kprobes'])
        found.append(_result('text', log, status))
        found.append(_clippy(built))
        found.append(_rustdoc(built))
        # Clippy's objects are not the kernel's: put those back.
        kernel.build(built.arch, built.impl, built.flavour)
    return found
