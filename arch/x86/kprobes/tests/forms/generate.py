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

Some of these are a function together, and others one of their own: looking for
symbols of a module takes the longer, the more there are, and there is little
else that registering probes takes as long.
"""

import re

import description

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
    second = form.second or (f'.byte {0x90 + swapped:#x}' if swapped
                             else 'cmc')
    return (f'notq %r{spare[0]}', second, ('cmc', f'notq %r{spare[1]}'))


# How many forms are in a function, where that does not matter to them.
_TOGETHER = 8


def _functions(groups):
    """[{number: form}]: which forms are a function together, in order."""
    functions, number = [], 0
    for forms in groups.values():
        plain = {}
        for form in forms:
            if form.alone:
                plain = {}
                functions.append({number: form})
            else:
                if len(plain) % _TOGETHER == 0:
                    plain = {}
                    functions.append(plain)
                plain[number] = form
            number += 1
    return functions


def _function(forms):
    """The function of FORMS."""
    first = min(forms)
    return '\n'.join(
        [f'\t.type forms_{first}, @function', f'forms_{first}:',
         *(_place(number, form) for number, form in forms.items()),
         f'\t.size forms_{first}, . - forms_{first}',
         f'\tSTACK_FRAME_NON_STANDARD forms_{first}'])


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
    return _numbered(lines, number)


def _numbered(lines, number):
    return '\n'.join(lines).replace('@', str(number))


def _ways_up_to(number, form):
    """What runs as FORM's stub does up to where its probes are, and ends."""
    third, second, _ = _around(form)
    lines = []
    for name, parts in (('third', ()), ('second', (third,)),
                        ('site', (third, second))):
        lines += [f'.Lto_{name}@:', '\tENDBR']
        lines += [f'\t{line}' for line in (*form.setup, *parts)]
        lines += ['\tjmp forms_fell']
    return _numbered(lines, number)


def _distances(*places):
    """A line of words that say how far from themselves PLACES are.

    A kernel in which GCC makes computed gotos has no jump over a place whose
    address is in data.
    """
    return '\t.long ' + ', '.join(f'{place} - .' for place in places)


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
    name = form.name.replace('\\', '\\\\').replace('"', '\\"')
    return '\n'.join((
        _distances(f'.Lstub{number}', f'.Lsite{number} + {form.into}',
                   f'.Lsecond{number}', f'.Lthird{number}'),
        _distances(f'.Lto_site{number}', f'.Lto_second{number}',
                   f'.Lto_third{number}'),
        _distances(f'.Lnext{number}', taken, f'.Lname{number}'),
        f'\t.long {flags}',
        f'\t.short {form.feature}, -({form.refused})',
        '\t.pushsection .rodata.forms_names, "a"',
        f'.Lname{number}:\t.asciz "{name}"',
        '\t.popsection'))


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
    functions = _functions(groups)
    print('\n'.join(_function(forms) for forms in functions))
    print('\t.type forms_up_to, @function\nforms_up_to:')
    for forms in functions:
        for number, form in forms.items():
            print(_ways_up_to(number, form))
    print('\t.size forms_up_to, . - forms_up_to\n'
          '\tSTACK_FRAME_NON_STANDARD forms_up_to')
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
