# SPDX-License-Identifier: GPL-2.0
"""Writes cases.S: every form of description.py, or thumb.py, in a place of its own.

Each has this around it:

    stub:       ...         register 12, by which the stub was found
    site:       the form    where the probe is
    next:       b forms_fell
    taken:      b forms_taken       where a branch leads

A branch that leads backward has its landing before the stub.
"""

import sys

import description
import thumb
from table import distances, function, functions, name_lines, numbered, print_table


def _place(number, form):
    """The stub of FORM."""
    # The other instruction set may be there.
    landing = ['\t.balign 4', '.Ltaken@:', *(f'\t{line}' for line in form.landing)]
    lines = landing[:] if form.backward else []
    lines += ['.Lstub@:', '\tmovw ip, #:lower16:forms_ip', '\tmovt ip, #:upper16:forms_ip',
              '\tldr ip, [ip]', *form.before, '.Lsite@:',
              '\t' + form.name.replace('TAKEN', '.Ltaken@'), *form.table, '.Lnext@:',
              *form.behind, '\tb forms_fell']
    lines += [] if form.backward else landing
    return numbered(lines, number)


def _row(number, form):
    """The struct form of FORM."""
    held = [description.CONTENTS.index(form.registers.get(register, 'ANY'))
            for register in range(16)]
    pairs = ', '.join(str(high << 4 | low) for high, low in zip(held[::2], held[1::2]))
    return '\n'.join((
        distances(*(f'.L{place}{number}' for place in ('stub', 'site', 'next', 'taken', 'name'))),
        f'\t.long {" | ".join(form.flags) or 0}',
        f'\t.byte {pairs}',
        f'\t.short {form.condition}, -({form.refused})',
        *name_lines(number, form)))


def main():
    """Everything to standard output."""
    is_thumb = 'thumb' in sys.argv
    groups = (thumb if is_thumb else description).groups()
    print('/* SPDX-License-Identifier: GPL-2.0 */\n'
          '/* Made by generate.py. */\n'
          '#include <asm/errno.h>\n'
          '#include "forms.h"\n'
          '\t.arch armv7-a')
    for extension in ('idiv', 'mp', 'virt', 'sec'):
        print(f'\t.arch_extension {extension}')
    print('\t.fpu neon', '\t.text', '\t.thumb' if is_thumb else '\t.arm', sep='\n')
    print('\n'.join(function(forms, _place) for forms in functions(groups)))
    print_table(groups, _row, '.long')


main()
