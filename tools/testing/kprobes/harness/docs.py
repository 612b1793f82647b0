# SPDX-License-Identifier: GPL-2.0
"""make docs: our pages and those of rustdoc, without a warning about ours.

The kernel's own htmldocs, for our folder alone, in a root that has Sphinx and
that kp has made beside the toolchain's; then the kernel's rustdoc of a built
kernel, with our crate beside those of rust/.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import checkkernel
import complaints
import documents
import env
import kernel
import overlay
import procs
import progress
from ktap import Result

FOLDER = Path('Documentation/trace/rust-kprobes')
_SPHINX_LEAST = (3, 4, 3)    # Documentation/conf.py

# Sphinx: PLACE[:LINE]: WARNING: what. docutils says ERROR, too.
_SPHINX = re.compile(r'(\S+?\.\w+)(?::\S*)?: ((?:WARNING|ERROR|SEVERE|CRITICAL): .*)')


def of_sphinx(text, known):
    """What of Sphinx' TEXT is said of the files KNOWN; one line each."""
    found = []
    for line in text.splitlines():
        match = _SPHINX.match(line)
        if match and (name := complaints.ours(match[1], known)):
            found.append(line.replace(match[1], name, 1))
        elif not match and re.search(r'\b(WARNING|ERROR|SEVERE|CRITICAL)\b',
                                     line):
            # Elsewhere, but about one of ours.
            found += [line for word in re.findall(r'[\w./-]+', line)
                      if complaints.ours(word, known)][:1]
    return found


def _require():
    """With the machine's own tools: is there a Sphinx that will do?"""
    text = ''
    try:
        text = procs.output(['sphinx-build', '--version'])
    except (OSError, subprocess.CalledProcessError):
        pass
    found = tuple(int(one) for one in re.findall(r'\d+', text)[:3])
    if found < _SPHINX_LEAST:
        least = '.'.join(map(str, _SPHINX_LEAST))
        raise env.Refusal(
            f'sphinx-build {least} or later on this machine (HOST_TOOLS=1)',
            text.strip() or 'none',
            'apt-get install python3-sphinx python3-yaml, or leave HOST_TOOLS '
            'unset: then make docs makes a root that has it')


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


def _inside(command):
    """COMMAND where Sphinx is."""
    root = os.environ.get('KP_DOCS')
    if env.HOST_TOOLS or not root:
        _require()
        return command
    return ['unshare', '--mount', 'sh', '-euc', _ENTER, 'docs', root,
            os.environ['KP_WORK'], 'env', 'PATH=/usr/bin:/bin', *command]


def pages():
    """Write the pages; (the first of them, what is wrong with ours)."""
    out, log = env.WORK / 'docs', env.LOGS / 'docs.log'
    command = _inside(['make', '-C', env.TREE, f'O={out}',
                       f'SPHINXDIRS={FOLDER.relative_to("Documentation")}',
                       f'SPHINXOPTS=-j{env.jobs()}', 'htmldocs'])
    overlay.sync()
    # A page that is there already would not be warned of again.
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with progress.Stage('docs pages', 1):
        status = procs.run(command, log)
    first = out / 'Documentation/output' / FOLDER.relative_to(
        'Documentation') / 'index.html'
    found = of_sphinx(log.read_text(errors='replace'), complaints.names())
    if status or not first.exists():
        if procs.no_space(env.WORK):
            raise procs.full_disk(env.WORK)
        raise env.Refusal('the pages to be written',
                          procs.tail(log, 8) or f'exit status {status}',
                          f'see the lines above; whole log: {env.host(log)}')
    return first, found


def crates(built):
    """rustdoc of BUILT's crates and ours; (its folder, what is wrong)."""
    out = built.obj / 'Documentation/output/rust/rustdoc'
    log = env.LOGS / 'docs-rustdoc.log'
    log.unlink(missing_ok=True)
    command = kernel.make_command(built.arch, built.obj, built.tree,
                                  built.flavour)
    with progress.Stage('docs rustdoc', 3) as stage:
        kernel.compile_targets(command, ['rustdoc'], log, stage)
        ours = checkkernel.rustdoc(built, out)
    found = complaints.of_rust(log.read_text(errors='replace'),
                               complaints.names())
    if ours.status == 'fail':
        found.append(ours.reason)
    return out, found


def run(build):
    """All of it, on the kernel that BUILD makes; the results."""
    first, wrong = pages()
    untrue = documents.of_kernel(env.TREE)
    out, warned = crates(build())
    progress.say(f'pages: {env.host(first)}\n'
                 f'the safe interface: {env.host(out)}/kernel/kprobes/index.html\n'
                 f'the crate: {env.host(out)}/rust_kprobes/index.html')
    return [Result('docs.pages', 'fail' if wrong else 'pass',
                   '\n'.join(wrong)),
            Result('docs.kernel', 'fail' if untrue else 'pass',
                   '\n'.join(untrue)),
            Result('docs.rustdoc', 'fail' if warned else 'pass',
                   '\n'.join(warned))]
