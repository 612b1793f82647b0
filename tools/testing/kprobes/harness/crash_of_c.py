# SPDX-License-Identifier: GPL-2.0
"""Run a command in a guest with C's kprobes, as c-crashes.rst shows.

    kp exec python3 harness/crash_of_c.py FOLDER COMMAND [ARCH]

FOLDER holds the modules that COMMAND loads.
"""

import sys

import arches
import guest
import kernel
import qemu


def main(folder: str, command: str, arch: str = arches.NAMES[0]) -> None:
    """Boot the guest to its end, or say how it has died."""
    built = kernel.build(arch, 'c')
    modules = kernel.ours(built, *(
        place for place in built.machine.modules if place.endswith(f'/{folder}')))
    image = guest.initramfs(built, 'crash', f'{command}\n', modules)
    try:
        # The suite of forms runs when its module is loaded.
        qemu.boot(built, image, name='crash', on_line=print, cmdline='kunit.filter_glob=forms*')
    except qemu.Died as died:
        died.show()


if __name__ == '__main__':
    main(*sys.argv[1:])
