# SPDX-License-Identifier: GPL-2.0
"""What cases.S has on every architecture: forms in functions, and the table.

Some forms are a function together, and others one of their own: looking for
symbols of a module takes the longer, the more there are, and there is little
else that registering probes takes as long.
"""

# How many forms are in a function, where that does not matter to them.
_TOGETHER = 8


def functions(groups):
    """[{number: form}]: which forms are a function together, in order."""
    together, number = [], 0
    for forms in groups.values():
        plain = {}
        for form in forms:
            if form.alone:
                plain = {}
                together.append({number: form})
            else:
                if len(plain) % _TOGETHER == 0:
                    plain = {}
                    together.append(plain)
                plain[number] = form
            number += 1
    return together


def function(forms, place, behind=''):
    """The function of FORMS; PLACE writes one of them."""
    first = min(forms)
    return '\n'.join(
        [f'\t.type forms_{first}, %function', f'forms_{first}:',
         *(place(number, form) for number, form in forms.items()),
         f'\t.size forms_{first}, . - forms_{first}']) + behind.format(first)


def numbered(lines, number):
    """LINES as text, with labels of the form with this NUMBER."""
    return '\n'.join(lines).replace('@', str(number))


def distances(*places):
    """A line of words that say how far from themselves PLACES are.

    A kernel in which GCC makes computed gotos has no jump over a place whose
    address is in data.
    """
    return '\t.long ' + ', '.join(f'{place} - .' for place in places)


def name_lines(number, form):
    """Lines with the name of FORM."""
    text = form.name.replace('\\', '\\\\').replace('"', '\\"')
    return ('\t.pushsection .rodata.forms_names, "a"',
            f'.Lname{number}:\t.asciz "{text}"',
            '\t.popsection')


def print_table(groups, row, pointer='.quad'):
    """All groups, of forms that ROW writes the struct of."""
    print('\t.section .rodata, "a"\n\t.balign 8')
    number = 0
    for title, forms in groups.items():
        print(f'.Lgroup_{title}:')
        for form in forms:
            print(row(number, form))
            number += 1
    print('\t.globl forms_groups, forms_group_count\nforms_groups:')
    for title, forms in groups.items():
        print(f'\t{pointer} .Lgroupname_{title}, .Lgroup_{title}\n\t.quad {len(forms)}')
    print(f'forms_group_count:\t.quad {len(groups)}')
    for title in groups:
        print(f'.Lgroupname_{title}:\t.asciz "{title}"')
    print('\t.section .note.GNU-stack, "", %progbits')
