# SPDX-License-Identifier: GPL-2.0
"""Writes cases.S: every form of description.py in a place of its own.

    generate.py opcodes.txt dis.c

Each has this around it:

    stub:       lgrl %r1    register 1, by which the stub was found
    site:       the form    where the probe is
    next:       jg forms_fell
    taken:      jg forms_taken      where a branch leads

A branch that leads backward has its landing before the stub.
"""

import sys

import description
import encoding
from table import distances, function, functions, name_lines, numbered, print_table

# The length of LGRL and of JG.
_LONG = 6


def _bytes(code):
    return '\t.byte ' + ', '.join(f'{byte:#x}' for byte in code)


def _with_distance(form):
    """The code of FORM, with the distance to its landing or to what it executes, in halfwords."""
    if form.executed:
        at, bits, halfwords = 16, 32, (len(form.code) + _LONG) // 2
    elif form.distance:
        at, bits = form.distance
        halfwords = -2 * _LONG // 2 if form.backward else (len(form.code) + _LONG) // 2
    else:
        return form.code
    image = int.from_bytes(form.code, 'big')
    image |= (halfwords & (1 << bits) - 1) << 8 * len(form.code) - at - bits
    return image.to_bytes(len(form.code), 'big')


def _place(number, form):
    """The stub of FORM."""
    landing = ['.Ltaken@:', '\tjg forms_taken' if form.branches else '']
    lines = landing[:] if form.backward else []
    lines += ['.Lstub@:', '\tlgrl %r1, forms_r1', '.Lsite@:']
    if form.relative:
        lines += ['\t.reloc .Lsite@ + 2, R_390_PC32DBL, S + 10']
    lines += [_bytes(_with_distance(form)), '.Lnext@:', '\tjg forms_fell']
    lines += [] if form.backward else landing
    if form.executed:
        lines += ['.Lexecuted@:', _bytes(form.executed), '\tjg forms_astray']
    if form.fixup:
        lines += ['\tEX_TABLE(.Lsite@, forms_faulted)', '\tEX_TABLE(.Lnext@, forms_faulted)']
    return numbered(lines, number)


def _row(number, form):
    """The struct form of FORM."""
    held = [description.CONTENTS.index(form.registers.get(register, 'ANY'))
            for register in range(16)]
    site = '.Lexecuted' if form.at_executed else '.Lsite'
    return '\n'.join((
        distances(f'.Lstub{number}', f'{site}{number} + {form.into}', f'.Lnext{number}',
                  f'.Ltaken{number}', f'.Lname{number}'),
        f'\t.long {" | ".join(form.flags) or 0}',
        _bytes(high << 4 | low for high, low in zip(held[::2], held[1::2])),
        f'\t.short -({form.refused}), 0',
        *name_lines(number, form)))


def main():
    """Everything to standard output."""
    groups = description.groups(encoding.read(*sys.argv[1:]))
    print('/* SPDX-License-Identifier: GPL-2.0 */\n'
          '/* Made by generate.py from description.py. */\n'
          '#include <asm/asm-extable.h>\n#include <asm/errno.h>\n'
          '#include "forms.h"\n'
          '#define S forms_scratch + FORMS_SCRATCH / 2\n'
          '\t.text')
    print('\n'.join(function(forms, _place) for forms in functions(groups)))
    print_table(groups, _row)


main()
