#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""inside.py FUNCTION: how far an instruction in its middle is from its start.

inside.py FUNCTION VMLINUX: the address of the same, in a kernel that lies there.

It is one that may become a jump: behind it are more bytes than a jump has. The
kernel's own bytes say where instructions begin, as objdump reads them.
"""

import re
import shutil
import subprocess
import sys

function, kernel = (*sys.argv[1:], '/kernel/vmlinux')[:2]
# Outside the guest it is LLVM's that knows all machines.
objdump = [program, '--disassemble-symbols='] if (
    program := shutil.which('llvm-objdump')) else ['objdump', '--disassemble=']
listing = subprocess.run(
    [objdump[0], '-d', objdump[1] + function, kernel],
    capture_output=True, text=True, check=True).stdout
places = [(int(address, 16), name) for address, name in
          re.findall(r'^\s*([0-9a-f]+):\s[^\t\n]*\t(\S+)', listing, re.M)]
start = places[0][0] if len(sys.argv) == 2 else 0
# Behind the call of ftrace, and no sooner than ten instructions in. No branch: on s390x,
# QEMU ends the single steps that C takes of these at a wrong address.
print(hex(next(address for address, name in places[10:]
               if not re.match(r'[bj]|c\w*j', name)) - start))
