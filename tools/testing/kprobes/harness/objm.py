# SPDX-License-Identifier: GPL-2.0
"""Checks before a build that the files which a module's Kbuild names exist.

make reads the Kbuild and looks for the sources. What it cannot know without
the kernel's configuration, and a file that cannot be read without the kernel's
makefiles, is for the build to tell.
"""

import re
import subprocess
from pathlib import Path

import env

_SOURCES = ('c', 'rs', 'S')
_ASK = '''
src := .
obj := .
include ./$(kbuild)
parts = $(strip $(foreach kind,objs y m,$($(1:.o=-$(kind)))))
every-source: $(if $(strip $(obj-m) $(obj-y) $(obj-)),,obj-m)
every-source: $(foreach one,$(filter %.o,$(obj-m)),$(or \\
  $(call parts,$(one)),$(if $($(one:.o=-)),,$(one))))
%.o: %.o_shipped ;
''' + ''.join(f'%.o: %.{kind} ;\n%.o: %.{kind}_shipped ;\n'
              for kind in _SOURCES)
_MISSING = re.compile(r"No rule to make target '(.*?)(?:\.o)?', needed by 'ever")


def check(folder: Path) -> None:
    """Refuse a FOLDER whose Kbuild names what is not there."""
    path = next(folder / name for name in ('Kbuild', 'Makefile')
                if (folder / name).is_file())
    errors = subprocess.run(
        ['make', '-rRns', '-f', '-', 'KERNELRELEASE=7.3',
         f'kbuild={path.name}', 'every-source'], input=_ASK, cwd=folder,
        text=True, errors='replace', capture_output=True, check=False).stderr
    sources = sorted(path.name for path in folder.iterdir()
                     if path.suffix[1:] in _SOURCES
                     and not path.name.endswith('.mod.c'))
    mend = f' (obj-m := {sources[0].rpartition(".")[0]}.o)' if sources else ''
    match = _MISSING.search(errors)
    if match and match[1] == 'obj-m':
        raise env.Refusal(f'a line obj-m := name.o in {env.host(path)}',
                          'no obj-m there', f'add one{mend}')
    if match:
        wanted = ' or '.join(f'{match[1]}.{kind}' for kind in _SOURCES)
        raise env.Refusal(
            f'{wanted} in {env.host(folder)}: {path.name} names {match[1]}.o',
            f'none of them (there is {", ".join(sources)})' if sources
            else 'none of them, nor any other source',
            f'write in {env.host(path)} what the file is called{mend}, or '
            'call the file so')
