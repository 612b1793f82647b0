# SPDX-License-Identifier: GPL-2.0
"""Writes cases.S: every form of description.py in a place of its own.

Each has this around it:

    stub:       setup           moves only, so flags stay as they were loaded
    third:      notq %rA        a probe here has the form as its third one
    second:     xchg or cmc     a probe here has it as its second one
    site:       the form        where the probe is in most ways
    next:       cmc             what else a jump at the form may be over
                notq %rB
                jmp forms_fell
    taken:      jmp forms_taken where branches of the form lead

Whatever is done wrongly to one of those around the form is seen in a register
or the carry flag. A jump is over five bytes: so the form, whatever its length,
is its first instruction, its last one, and one in the middle if it is short.
"""

import re

import description
from table import distances, function, functions, name_lines, numbered, print_table

# By XCHG with EAX in one byte.
_OTHERS = {'cx': 1, 'dx': 2, 'bx': 3, 'bp': 5, 'si': 6, 'di': 7}


def _named(register, text):
    """Is any part of the register in TEXT? It is 'ax', say, or '10'."""
    if register.isdigit():
        return re.search(rf'%r{register}[bwd]?\b', text)
    low = register[0] if register[1] == 'x' else register
    return re.search(rf'%([re]?{register}|{low}[lh])\b', text)


def _around(form):
    """(third, second, behind): what stands around FORM, two before it."""
    setup = '\n'.join(form.setup)
    spare = [n for n in ('13', '14', '8', '9', '12', '15', '10', '11')
             if not _named(n, '\n'.join((setup, form.text, *form.follow)))]
    # WRMSR is for what RDMSR has read.
    swapped = None if _named('ax', setup) or 'rdmsr' in setup else next(
        (n for name, n in _OTHERS.items() if not _named(name, setup)), None)
    second = form.second or (f'.byte {0x90 + swapped:#x}' if swapped else 'cmc')
    return (f'notq %r{spare[0]}', second, ('cmc', f'notq %r{spare[1]}'))


def _place(number, form):
    """The stub of FORM."""
    third, second, behind = _around(form)
    lines = ['.Lstub@:', '\tENDBR']
    lines += [f'\t{line}' for line in form.setup]
    landing = ['.Ltaken@:', '\tENDBR', '\tjmp forms_taken']
    if form.backward:
        lines += ['\tjmp .Lthird@', *landing]
    lines += ['.Lthird@:', f'\t{third}', '.Lsecond@:', f'\t{second}',
              '.Lsite@:', f'\t{form.text}', '.Lnext@:']
    lines += [f'\t{line}' for line in (*form.follow, *behind)]
    lines += ['\tjmp forms_fell']
    lines += [f'\t{line}' for line in form.callee]
    if form.sled:
        # Should the form be taken for a branch, its immediate leads here.
        lines += [f'\t.skip {form.sled}, 0x90', '\tjmp forms_astray']
    if not form.backward:
        lines += landing
    if form.fixup:
        lines += ['\t_ASM_EXTABLE(.Lsite@, .Ltaken@)']
    return numbered(lines, number)


def _ways_up_to(number, form):
    """What runs as FORM's stub does up to where its probes are, and ends."""
    third, second, _ = _around(form)
    lines = []
    for name, parts in (('third', ()), ('second', (third,)), ('site', (third, second))):
        lines += [f'.Lto_{name}@:', '\tENDBR']
        lines += [f'\t{line}' for line in (*form.setup, *parts)]
        lines += ['\tjmp forms_fell']
    return numbered(lines, number)


def _row(number, form):
    """The struct form of FORM."""
    taken = (form.to or '.Ltaken@').replace('@', str(number))
    flags = list(form.flags)
    if form.fixup:
        flags.append('FORM_FIXUP')
    if form.into:
        flags.append('FORM_INSIDE')
    if form.text in description.MOVES:
        flags.append('FORM_MOVES')
    flags = ' | '.join(flags) or '0'
    return '\n'.join((
        distances(f'.Lstub{number}', f'.Lsite{number} + {form.into}',
                  f'.Lsecond{number}', f'.Lthird{number}'),
        distances(f'.Lnext{number}', taken, f'.Lname{number}'),
        f'\t.long {flags}',
        distances(f'.Lto_site{number}', f'.Lto_second{number}',
                  f'.Lto_third{number}'),
        f'\t.long {form.feature}',
        f'\t.short -({form.refused}), 0',
        *name_lines(number, form)))


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
    parts = functions(groups)
    print('\n'.join(
        function(forms, _place, '\n\tSTACK_FRAME_NON_STANDARD forms_{}')
        for forms in parts))
    print('\t.type forms_up_to, @function\nforms_up_to:')
    for forms in parts:
        for number, form in forms.items():
            print(_ways_up_to(number, form))
    print('\t.size forms_up_to, . - forms_up_to\n\tSTACK_FRAME_NON_STANDARD forms_up_to')
    print_table(groups, _row)


main()
