# SPDX-License-Identifier: GPL-2.0
"""Which objects a kernel was linked from, for the checks of its code."""

import pathlib
import subprocess
import sys


def linked(names, ar):
    """The objects themselves, and those that a folder's built-in.a names."""
    for name in map(pathlib.Path, names):
        if not name.is_dir():
            yield name
            continue
        out = subprocess.run([ar, 't', name / 'built-in.a'], check=True,
                             capture_output=True, text=True).stdout.split()
        if not out:
            sys.exit(f'{name}/built-in.a: expected objects, found none')
        for member in out:
            yield name / pathlib.Path(member).name
