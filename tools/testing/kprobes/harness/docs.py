# SPDX-License-Identifier: GPL-2.0
"""make docs: our pages and those of rustdoc, without a warning about ours.

The kernel's own htmldocs, for our folder alone, in a root that has Sphinx and
that kp has made beside the toolchain's; then the kernel's rustdoc of a built
kernel, with our crate beside those of rust/.
"""

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import checkkernel
import complaints
import env
import kernel
import overlay
import procs
import progress
from ktap import Result, listed, verdict

_FOLDER = Path('trace/rust-kprobes')
# Sphinx fails by itself only where it cannot go on.
_WARNING = re.compile(r'\b(WARNING|ERROR|SEVERE|CRITICAL)\b')
# The kernel's own, of all that it could draw.
_NO_GRAPHVIZ = 'WARNING: dot(1) not found'

# Arguments: the root, what must be found in it at the same place, the command.
_ENTER = '''
root=$1 shared=$2; shift 2
mkdir -p "$root$shared"
mount --bind "$shared" "$root$shared"
mount --rbind /dev "$root/dev"
mount --rbind /proc "$root/proc"
mount -t tmpfs tmp "$root/tmp"
exec chroot "$root" "$@"
'''


def _inside(command: list) -> list:
    """COMMAND, run in the root that has Sphinx."""
    return ['unshare', '--mount', 'sh', '-euc', _ENTER, 'docs',
            os.environ['KP_DOCS'], os.environ['KP_WORK'], 'env',
            'PATH=/usr/bin:/bin', *command]


def pages() -> tuple[Path, list[str]]:
    """Write the pages; the first of them, and what Sphinx warns of.

    It is given our folder alone, so each warning is about a page of ours.
    """
    # A page that is there already would not be warned of again.
    out, log = env.empty_folder(env.WORK / 'docs'), env.LOGS / 'docs.log'
    with progress.Stage('docs pages', 1):
        status = procs.run(_inside(
            ['make', '-C', env.TREE, f'O={out}', f'SPHINXDIRS={_FOLDER}',
             f'SPHINXOPTS=-j{env.jobs()}', 'htmldocs']), log)
    first = out / 'Documentation/output' / _FOLDER / 'index.html'
    if status or not first.exists():
        raise env.Refusal('the pages to be written',
                          procs.tail(log, 8) or f'exit status {status}',
                          f'see the lines above; whole log: {env.host(log)}', env.host(log))
    return first, [line for line in log.read_text(errors='replace').split('\n')
                   if _WARNING.search(line)
                   and not line.startswith(_NO_GRAPHVIZ)]


def references() -> list[str]:
    """Files of ours that name pages which there are not, or tools that are not shipped."""
    return [f'{path}: {page}' for path in overlay.files()
            for page in re.findall(r'\bDocumentation/[\w/.-]+\.rst\b|\btools/testing/kprobes\b',
                                   (env.TREE / path).read_text())
            if not (env.TREE / page).exists()]


def crates(built: kernel.Built) -> tuple[Path, list[Result]]:
    """rustdoc of BUILT's crates and ours; its folder, and the results."""
    out = built.obj / 'Documentation/output/rust/rustdoc'
    log = env.LOGS / 'docs-rustdoc.log'
    command = kernel.make_command(built.arch, built.obj, built.tree, built.flavour)
    with progress.Stage('docs rustdoc', 3) as stage:
        kernel.compile_targets(command, ['rustdoc'], log, stage)
        ours = checkkernel.rustdoc(built, out)
    warnings = complaints.of_rust(log.read_text(errors='replace'), complaints.names())
    return out, [verdict('docs.rustdoc', '\n'.join(warnings), env.host(log)),
                 replace(ours, name='docs.crate')]


def run(build: Callable[[], kernel.Built]) -> list[Result]:
    """All of it, on the kernel that BUILD makes."""
    overlay.sync()
    first, warnings = pages()
    outcomes = [verdict('docs.pages', '\n'.join(warnings), env.host(env.LOGS / 'docs.log')),
                listed('docs.references', references())]
    out, of_rustdoc = crates(build())
    progress.say(f'pages: {env.host(first)}\n'
                 f'the safe interface: {env.host(out)}/kernel/kprobes/index.html\n'
                 f'the crate: {env.host(out)}/rust_kprobes/index.html')
    return outcomes + of_rustdoc
