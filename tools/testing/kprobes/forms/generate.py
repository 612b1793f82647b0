# SPDX-License-Identifier: GPL-2.0
"""Writes cases.S: every form of description.py in a place of its own.

A place is a symbol of its own, so that a probe's instruction boundary is
found from there:

    forms_N:    setup           moves only, so flags stay as they were loaded
    site:       the form        where the probe is
    next:       jmp forms_fell
    taken:      jmp forms_taken where branches of the form lead
"""

import description


def _place(number, form):
    """The stub of FORM."""
    text = form.text
    lines = [f'\t.type forms_{number}, @function', f'forms_{number}:',
             '\tENDBR']
    lines += [f'\t{line}' for line in form.setup]
    landing = ['.Ltaken@:', '\tENDBR', '\tjmp forms_taken']
    if form.backward:
        lines += ['\tjmp .Lsite@', *landing]
    lines += ['.Lsite@:', f'\t{text}', '.Lnext@:']
    lines += [f'\t{line}' for line in form.follow]
    lines += ['\tjmp forms_fell']
    if form.sled:
        # Should the form be taken for a branch, its immediate leads here.
        lines += [f'\t.skip {form.sled}, 0x90', '\tjmp forms_astray']
    if not form.backward:
        lines += landing
    if form.fixup:
        lines += ['\t_ASM_EXTABLE(.Lsite@, .Ltaken@)']
    lines += [f'\t.size forms_{number}, . - forms_{number}',
              f'\tSTACK_FRAME_NON_STANDARD forms_{number}']
    return '\n'.join(lines).replace('@function', '%function') \
        .replace('@', str(number)).replace('%function', '@function')


def _row(number, form):
    """The struct form of FORM."""
    taken = form.to or f'.Ltaken{number}'
    flags = ' | '.join(form.flags) or '0'
    name = form.name.replace('\\', '\\\\').replace('"', '\\"')
    return (f'\t.quad forms_{number}, .Lsite{number} + {form.into}, '
            f'.Lnext{number}, {taken}, .Lname{number}\n'
            f'\t.long {flags}\n'
            f'\t.short {form.feature}, -({form.refused})\n'
            f'\t.pushsection .rodata.forms_names, "a"\n'
            f'.Lname{number}:\t.asciz "{name}"\n'
            f'\t.popsection')


def main():
    """Everything to standard output."""
    groups = description.groups()
    print('/* SPDX-License-Identifier: GPL-2.0 */\n'
          '/* Made by generate.py from description.py. */\n'
          '#include <asm/asm.h>\n#include <asm/cpufeatures.h>\n'
          '#include <asm/errno.h>\n#include <asm/ibt.h>\n'
          '#include <linux/objtool.h>\n'
          '#include "forms.h"\n'
          '#define S (forms_scratch + FORMS_SCRATCH / 2)\n'
          '\t.text')
    number = 0
    first = {}
    for name, forms in groups.items():
        first[name] = number
        for form in forms:
            print(_place(number, form))
            number += 1
    print('\t.section .rodata, "a"\n\t.balign 8')
    number = 0
    for name, forms in groups.items():
        print(f'.Lgroup_{name}:')
        for form in forms:
            print(_row(number, form))
            number += 1
    print('\t.globl forms_groups, forms_group_count\nforms_groups:')
    for name, forms in groups.items():
        print(f'\t.quad .Lgroupname_{name}, .Lgroup_{name}, {len(forms)}')
    print(f'forms_group_count:\t.quad {len(groups)}')
    for name in groups:
        print(f'.Lgroupname_{name}:\t.asciz "{name}"')
    print('\t.section .note.GNU-stack, "", @progbits')


main()
