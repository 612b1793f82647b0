# SPDX-License-Identifier: GPL-2.0
"""make module DIR=path: somebody's module in our kernel; README's two."""

import re
import shutil

import env
import guest
import kernel
import ktap
import progress
import qemu

EXAMPLES = env.KPROBES / 'examples'
# What each of them must say.
_SAY = {'hello': r'hello: kernel_clone was hit [1-9]',
        'hello_rust': r'hello_rust: here I am\n(.*\n)*hello_rust: there I go'}


def _job(names, parameters):
    lines = ['mark module']
    for name in names:
        lines += [f'say "$ insmod {name}.ko {parameters}"',
                  f'if out=$(load {name} {parameters} 2>&1); then '
                  f'say "loaded {name}"; else '
                  f'say "refused {name}: $out"; fi']
    lines += ['for i in 1 2 3; do sh -c :; done', 'sleep 1',
              'say "$ cat kprobes/list"', 'show <$KPROBES/list']
    for name in reversed(names):
        lines += [f'if out=$(rmmod {name} 2>&1); then '
                  f'say "unloaded {name}"; '
                  f'elif [ -e /sys/module/{name.replace("-", "_")} ]; then '
                  f'say "stayed {name}: $out"; fi']
    return '\n'.join(lines) + '\n'


def run(built, folder, parameters=''):
    """Build FOLDER's module, boot, load, show what it says; all lines."""
    out = env.WORK / 'modules' / 'user'
    if out.exists():
        shutil.rmtree(out)
    found = kernel.external(built, folder, out, 'user')
    names = [path.stem for path in found]
    image = guest.initramfs(built, 'module', _job(names, parameters), found)
    shown = []

    def show(line):
        if line == 'mark: module':
            shown.append(line)
        elif line == qemu.DONE:
            shown.clear()
        elif shown:
            print(line, flush=True)
    console = qemu.boot(built, image, name='module', on_line=show)
    refused = [line for line in console.lines if line.startswith('refused ')]
    progress.say(f'whole console: {env.host(console.log)}')
    if refused:
        raise env.Refusal(f'{", ".join(names)} to load', '; '.join(refused),
                          'the kernel says why above')
    stayed = [line for line in console.lines if line.startswith('stayed ')]
    if stayed:
        raise env.Refusal(f'{", ".join(names)} to unload', '; '.join(stayed),
                          'does it have a function for module_exit(), and '
                          'has it given back all that it holds?')
    if console.splats:
        raise env.Refusal('a kernel without complaints',
                          '; '.join(console.splats[:3]),
                          'see the lines above')
    return console.lines


def examples(built):
    """The modules that README shows do what it says; the results."""
    found = []
    for name, said in _SAY.items():
        try:
            lines = '\n'.join(run(built, EXAMPLES / name))
            why = '' if re.search(said, lines) else f'it did not say "{said}"'
        except env.Refusal as refusal:
            refusal.show()
            why = refusal.found
        found.append(ktap.Result(f'{built.arch}.{built.impl}.example.{name}',
                                 'fail' if why else 'pass', why))
    return found
