# SPDX-License-Identifier: GPL-2.0
"""The forms: which instructions are run with and without a probe.

A form is assembler text (AT&T), with what has to be set up for it: registers
that hold pointers, a stack that holds where to return. Set-up consists of
moves, which change no flag. Registers that nobody sets up hold any numbers.

In the text, S is the middle of the memory for operands, {taken} where a branch
is to lead, {next} the address behind the form, {second} and {third} where a
probe is that has the form as its second or third instruction.

Each function below that `group` decorates yields the forms of one group,
which is one test.
"""

import itertools
from dataclasses import dataclass

SIZES = ('b', 'w', 'l', 'q')
_GROUPS = {}

# Registers for operands, which no addressing mode below uses.
REGISTERS = {
    'b': ['al', 'cl', 'dl', 'ah', 'ch', 'dh', 'r10b', 'r15b'],
    'w': ['ax', 'cx', 'dx', 'r10w', 'r11w', 'r15w'],
    'l': ['eax', 'ecx', 'edx', 'r10d', 'r11d', 'r15d'],
    'q': ['rax', 'rcx', 'rdx', 'r10', 'r11', 'r15'],
}
CONDITIONS = ('o', 'no', 'b', 'ae', 'e', 'ne', 'be', 'a',
              's', 'ns', 'p', 'np', 'l', 'ge', 'le', 'g')


@dataclass
class Form:
    """One form; `group` makes it from what its functions yield."""

    text: str
    setup: tuple = ()
    name: str = ''
    flags: tuple = ()
    feature: str = '0'
    # The errno with which it cannot be probed.
    refused: str = '0'
    # Where a branch leads, if not to its own landing.
    to: str = ''
    # Its landing stands before it.
    backward: bool = False
    # The exception table leads from it to its landing.
    fixup: bool = False
    # The probe is this many bytes into it.
    into: int = 0
    # What stands behind it.
    follow: tuple = ()
    # Nothing else stands behind it for this many bytes.
    sled: int = 0
    # What stands before it.
    second: str = ''
    # What it calls.
    callee: tuple = ()

    @property
    def alone(self):
        """Must it be the only one in its function?

        Decoders may not get behind it, or its branches say where others lead.
        """
        return bool(self.refused != '0' or self.fixup or self.into
                    or self.sled or self.callee or self.follow
                    or 'jmp *' in self.text or 'byte' in self.text)

    def __post_init__(self):
        self.name = self.name or self.text
        for old in ('taken', 'next', 'second', 'third'):
            old, new = f'{{{old}}}', f'.L{old}@'
            self.text = self.text.replace(old, new)
            self.setup = tuple(line.replace(old, new) for line in self.setup)


def group(function):
    """The forms that FUNCTION yields are a group with its name."""
    _GROUPS[function.__name__] = function
    return function


def groups():
    """{name: forms}."""
    return {name: list(function()) for name, function in _GROUPS.items()}


def jump_bytes(opcode, to='{taken}', size=4):
    """A branch whose distance has SIZE bytes; assemblers shorten them."""
    return f'.byte {opcode}; .{"long" if size == 4 else "byte"} {to} - {{next}}'


# Operands in memory: text, set-up. Each is 8 bytes at least.
_S = 'leaq S(%rip), %rbx'
_INDEX = 'movl $5, %esi'
MODES = [
    ('(%rbx)', (_S,)),
    ('8(%rbx)', (_S,)),
    ('-0x70(%rbx)', (_S,)),
    ('0xc0(%rbx)', (_S,)),
    ('-0x12345678(%rbx)', (_S, 'leaq 0x12345678(%rbx), %rbx')),
    ('(%rbp)', ('leaq S+3(%rip), %rbp',)),
    ('0x20(%rbp)', ('leaq S(%rip), %rbp',)),
    ('(%r12)', ('leaq S+24(%rip), %r12',)),
    ('(%r13)', ('leaq S-32(%rip), %r13',)),
    ('0x90(%r14)', ('leaq S(%rip), %r14',)),
    ('(%rbx,%rsi)', (_S, _INDEX)),
    ('(%rbx,%rsi,2)', (_S, 'movq $-7, %rsi')),
    ('4(%rbx,%rsi,4)', (_S, _INDEX)),
    ('-8(%rbx,%rsi,8)', (_S, _INDEX)),
    ('0x84(%rbp,%rdi,2)', ('leaq S(%rip), %rbp', 'movl $9, %edi')),
    ('(%r8,%r9,8)', ('leaq S(%rip), %r8', 'movq $-3, %r9')),
    ('0x44(%r12,%r13,4)', ('leaq S(%rip), %r12', 'movl $3, %r13d')),
    ('0x40(,%rsi,1)', ('leaq S-0x40(%rip), %rsi',)),
    ('S+40', ()),
    ('S-56(%rip)', ()),
    ('(%rsp)', ()),
    ('8(%rsp)', ()),
    ('0x88(%rsp)', ()),
    ('16(%rsp,%rdi,8)', ('movl $2, %edi',)),
    ('%gs:forms_percpu+8(%rip)', ()),
    ('%gs:16(%rbx)', ('leaq forms_percpu(%rip), %rbx',)),
]


def _modes(start=0):
    """The modes, over and over."""
    return itertools.cycle(MODES[start % len(MODES):] + MODES[:start % len(MODES)])


def _mem(modes, text, **more):
    """The form of TEXT, with the next of MODES as its operand."""
    operand, setup = next(modes)
    return Form(text.format(operand), setup, **more)


def _cycle(size):
    return itertools.cycle(REGISTERS[size])


def _fits(register, operand):
    """AH and its like have no encoding with REX."""
    return not (register in ('ah', 'ch', 'dh') and any(f'r{n}' in operand for n in range(8, 16)))


def _immediate(size):
    return {'b': '$0x5a', 'w': '$0x5aa5', 'l': '$0x12345678', 'q': '$-0x12345678'}[size]


def _binary(name, sizes=SIZES, start=0):
    """Between registers and memory, both ways, in every mode."""
    for size in sizes:
        registers = _cycle(size)
        for number, (operand, setup) in enumerate(MODES):
            register = next(r for r in registers if _fits(r, operand))
            if (number + start) % 2:
                yield Form(f'{name}{size} %{register}, {operand}', setup)
            else:
                yield Form(f'{name}{size} {operand}, %{register}', setup)


def _forms(table, setup=(), **more):
    """The forms of TABLE: "TEXT : SET-UP; SET-UP = NAME | TEXT = NAME | ...".

    Set-up and name may be left out; SETUP comes first in each of them.
    """
    for row in ' '.join(table.split()).split(' | '):
        row, _, name = row.partition(' = ')
        text, _, own = row.partition(' : ')
        yield Form(text, (*setup, *filter(None, own.split('; '))), name, **more)


def _rows(names, sizes, patterns, modes=None, **more):
    """The PATTERNS, each a row for _forms, of each of NAMES in all SIZES.

    In them {n} is the name with its size, {r[0]} and so on registers, {last}
    the last of these, {i} an immediate, {m} the next of MODES.
    """
    for name, size in itertools.product(names.split(), sizes):
        for pattern in patterns:
            operand, setup = next(modes) if '{m}' in pattern else ('', ())
            registers = REGISTERS[size]
            yield from _forms(pattern.format(
                n=name + size, r=registers, last=registers[-1],
                i=_immediate(size), m=operand), setup, **more)


_ALU = ('add', 'or', 'adc', 'sbb', 'and', 'sub', 'xor', 'cmp')


def _alu(row):
    """What the eight arithmetic instructions have in common."""
    yield from _binary(_ALU[row], start=row)
    modes = _modes(row * 5)
    for size, prefix in zip(SIZES, ('', '0x66, ', '', '0x48, ')):
        opcode = row * 8 + 2 + (size != 'b')
        # Both encodings of register to register, then immediates.
        yield from _rows(_ALU[row], size, (
            '{n} %{r[0]}, %{r[1]}',
            f'.byte {prefix}{opcode:#x}, 0xda = {{n}} in its other encoding',
            '{n} {i}, %{r[0]}', '{n} {i}, %{last}', '{n} $-3, %{r[2]}',
            '{n} $7, {m}', '{n} {i}, {m}'), modes)


for _row, _name in enumerate(_ALU):
    _GROUPS[f'alu_{_name}'] = lambda row=_row: _alu(row)


@group
def mov():
    yield from _binary('mov')
    yield from _binary('mov', start=1)
    modes = _modes()
    for size in SIZES:
        yield from _rows('mov', size, (
            '{n} %{r[0]}, %{r[3]}',
            *(f'{{n}} {{i}}, %{register}' for register in REGISTERS[size]),
            *['{n} {i}, {m}'] * 4), modes)
        yield from _rows('movabs', size, ('{n} S+8, %{r[0]}', '{n} %{r[0]}, S+16'))
    yield from _forms('movabsq $0x123456789abcdef0, %r9 | movabsq $forms_astray, %rdx')
    for segment in ('es', 'cs', 'ss', 'ds', 'fs', 'gs'):
        yield from _forms(f'movl %{segment}, %ecx | movw %{segment}, 8(%rbx) : {_S}')
    yield from _forms('movl %eax, %ds : movl $0, %eax | movw 8(%rsp), %es : pushq $0; pushq $0')
    for size in 'wlq':
        register = REGISTERS[size][0]
        for operand, setup in itertools.islice(modes, 3):
            yield from _forms(f'movbe{size} {operand}, %{register} | '
                              f'movbe{size} %{register}, {operand}', setup,
                              feature='X86_FEATURE_MOVBE')
    yield from _rows('movnti', 'lq', ('{n} %{r[1]}, {m}',), modes)


@group
def lea():
    for size in 'wlq':
        registers = _cycle(size)
        for operand, setup in MODES:
            # The GNU assembler takes what goes to half a register for one
            # that is not extended, and modules are too high up for that.
            if operand == 'S+40' and size != 'q':
                operand = '0x12345678'
            if '%gs' not in operand:
                yield Form(f'lea{size} {operand}, %{next(registers)}', setup)
    for operand in ('(%ebx)', '8(%ebx,%esi,4)', 'S(%eip)', '-9(%r12d)', '4(%r8d,%r15d,2)'):
        yield from _forms(f'leaq {operand}, %rax | leal {operand}, %ecx')
    for distance in ('0x40000000', '-0x40000000', '0x7f000000', '-1', '0'):
        yield Form(f'leaq {distance}(%rip), %rdx')


@group
def movx():
    for name, sizes in (('movzb', 'wlq'), ('movsb', 'wlq'), ('movzw', 'lq'),
                        ('movsw', 'lq'), ('movsl', 'q')):
        modes = _modes(len(name) + len(sizes))
        for size in sizes:
            source = REGISTERS[name[-1]][1]
            yield Form(f'{name}{size} %{source}, %{REGISTERS[size][3]}')
            for register in itertools.islice(_cycle(size), 9):
                yield _mem(modes, f'{name}{size} {{}}, %{register}')


@group
def test_xchg_xadd():
    for name in ('test', 'xchg', 'xadd'):
        yield from _rows(name, SIZES, (
            '{n} %{r[0]}, %{r[1]}', '{n} %{r[2]}, %{last}',
            *['{n} %{last}, {m}'] * 8), _modes(len(name)))
    for register in ('rcx', 'rbx', 'r8', 'r9', 'r15'):
        yield Form(f'xchgq %rax, %{register}')
    yield from _forms('xchgl %eax, %ecx | xchgw %ax, %dx')
    yield from _rows('test', SIZES, (*['{n} {i}, {m}'] * 4, '{n} {i}, %{r[0]}',
                                     '{n} {i}, %{r[1]}'), _modes(3))


@group
def unary():
    yield from _rows('inc dec neg not', SIZES, (
        '{n} %{r[1]}', '{n} %{r[4]}', *['{n} {m}'] * 6), _modes(7))


@group
def conditional_set_and_move():
    modes, sizes = _modes(11), itertools.cycle('wlq')
    for condition in CONDITIONS:
        move = f'cmov{condition}'
        yield from _forms(f'set{condition} %dl | set{condition} %r10b')
        yield _mem(modes, f'set{condition} {{}}')
        yield from _rows(move, 'wlq', ('{n} %{r[0]}, %{r[3]}',))
        yield from _rows(move, itertools.islice(sizes, 2), ('{n} {m}, %{r[1]}',), modes)


@group
def bits():
    modes = _modes(13)
    yield from _rows('bt bts btr btc', 'wlq', (
        '{n} %{r[0]}, %{r[1]}', '{n} $11, %{r[3]}', *['{n} $9, {m}'] * 2,
        # The bit may be far from the operand's address.
        *(f'{{n}} %{{r[0]}}, (%rbx) : {_S}; movq ${number}, %rax'
          for number in (3, 77, -70))), modes)
    for name, feature in (('bsf', '0'), ('bsr', '0'),
                          ('popcnt', 'X86_FEATURE_POPCNT'),
                          ('tzcnt', 'X86_FEATURE_BMI1'),
                          ('lzcnt', 'X86_FEATURE_ABM')):
        yield from _rows(name, 'wlq', ('{n} %{r[0]}, %{r[1]}',
                                       '{n} {m}, %{r[2]}'), modes,
                         feature=feature)
    for register in ('eax', 'edx', 'r10d', 'rbx', 'r8', 'r15'):
        yield Form(f'bswap %{register}')


@group
def shifts():
    modes = _modes(17)
    yield from _rows('rol ror rcl rcr shl shr sar', SIZES, (
        '{n} $1, %{r[0]}', '{n} $1, {m}', '{n} $5, %{r[0]}', '{n} $5, {m}',
        '{n} %cl, %{r[0]}', '{n} %cl, {m}'), modes)
    # SAL's second encoding.
    yield from _forms('.byte 0xc1, 0xf2, 3 = sal $3, %edx as /6 | '
                      '.byte 0xd3, 0xf2 = sal %cl, %edx as /6')
    yield from _rows('shld shrd', 'wlq', (
        '{n} $7, %{r[0]}, %{r[2]}', '{n} $7, %{r[3]}, {m}',
        '{n} %cl, %{r[0]}, %{r[2]}', '{n} %cl, %{r[3]}, {m}'), modes)


@group
def multiply_and_divide():
    modes = _modes(19)
    yield from _rows('mul imul', SIZES, ('{n} %{r[1]}', '{n} {m}', '{n} {m}'), modes)
    yield from _rows('imul', 'wlq', (
        '{n} %{r[0]}, %{r[3]}',
        '{n} $3, %{r[1]}, %{r[2]}', '{n} $3, {m}, %{r[2]}',
        '{n} $0x1234, %{r[1]}, %{r[2]}', '{n} $0x1234, {m}, %{r[2]}',
        '{n} {m}, %{r[2]}'), modes)
    # Quotients that fit: a small dividend, a divisor above two.
    small = 'movl $0, %edx; movzbl %al, %eax; movl $7, %ecx'
    # Whoever reads beside it finds no zero, which would end the guest.
    stored = (f'{small}; {_S}; movabsq $0x0707070707070707, %rcx; '
              'movq %rcx, 8(%rbx); movq %rcx, 16(%rbx)')
    yield from _rows('div idiv', SIZES, (
        f'{{n}} %{{r[1]}} : {small}', f'{{n}} 8(%rbx) : {stored}',
        f'{{n}} S+8(%rip) : {stored}'))
    yield from _forms('cbtw | cwtl | cltq | cwtd | cltd | cqto')
    for name, first, rest, feature in (
            ('mulx', '', ', %r10{0}, %{1}', 'X86_FEATURE_BMI2'),
            ('adcx', '', ', %r10{0}', 'X86_FEATURE_ADX'),
            ('adox', '', ', %r10{0}', 'X86_FEATURE_ADX'),
            ('rorx', '$9, ', ', %{1}', 'X86_FEATURE_BMI2')):
        for size, one, *others in (('l', 'ecx', 'd', 'r11d'), ('q', 'rcx', '', 'r15')):
            text = f'{name}{size} {first}{{}}{rest.format(*others)}'
            yield Form(text.format(f'%{one}'), feature=feature)
            yield _mem(modes, text, feature=feature)


@group
def stack():
    for name, registers in (('push', 'rax rcx rbx rbp rsp rdi r8 r12 r15'),
                            ('pop', 'rax rcx rbx rbp rdi r8 r12 r15')):
        for register in registers.split():
            yield Form(f'{name}q %{register}')
    yield from _forms('''
        popq %rsp : pushq %rsp | pushw %ax | popw %ax | pushq $-5 |
        pushq $0x12345678 | pushw $0x1234 |
        .byte 0xff, 0xf0 = pushq %rax as FF /6 |
        .byte 0x8f, 0xc0 = popq %rax as 8F /0''')
    for operand, setup in MODES:
        yield from _forms(f'pushq {operand} | popq {operand}', setup)
    yield from _forms('''
        pushq %fs | pushq %gs | popq %fs : pushq $0 |
        enter $32, $0 | enter $16, $1 | enter $8, $3 : leaq 64(%rsp), %rbp |
        leave : leaq 24(%rsp), %rbp |
        leave : movq %rsp, %rbp = leave, no frame |
        addq $24, %rsp | subq $40, %rsp | andq $-64, %rsp |
        leaq 16(%rsp), %rsp | leaq -32(%rsp), %rsp |
        movq %rbp, %rsp : leaq 48(%rsp), %rbp | movq %rsp, %rax |
        movq 8(%rsp), %rsp : pushq %rsp; pushq %rsp |
        xchgq %rsp, %rcx : leaq 32(%rsp), %rcx |
        xchgq %rsp, %rax : leaq -32(%rsp), %rax | incq %rsp''')


def _strings(prefix, names, counts):
    for name in names:
        for size in SIZES:
            for count in counts:
                setup = ('leaq S-16(%rip), %rsi', 'leaq S+96(%rip), %rdi')
                text = f'{prefix} {name}{size}'
                yield from _forms(
                    f'{text} : movl ${count}, %ecx = {text}, {count} times'
                    if prefix else text, setup)


@group
def strings():
    yield from _strings('', ('movs', 'stos', 'lods', 'scas', 'cmps'), (1,))


@group
def repeated_strings():
    yield from _strings('rep', ('movs', 'stos', 'lods'), (0, 1, 11))
    yield from _strings('repe', ('scas', 'cmps'), (0, 9))
    yield from _strings('repne', ('scas', 'cmps'), (0, 9))
    same = 'leaq S(%rip), %rsi; leaq S(%rip), %rdi; movl $12, %ecx'
    yield from _rows('cmps', SIZES, (f'repe {{n}} : {same} = ' 'repe {n}, equal',))
    # A port that nothing listens at.
    port = ('leaq S(%rip), %rsi', 'leaq S+96(%rip), %rdi', 'movl $0x80, %edx', 'movl $3, %ecx')
    yield from _forms('insb | rep insb | insw | rep insw | insl | rep insl | '
                      'outsb | rep outsb | outsw | rep outsw | '
                      'outsl | rep outsl', port)


@group
def flags():
    yield from _forms('clc | stc | cmc | cld | std | lahf | sahf | cli | sti')
    yield from _forms('sti = sti, and nop', follow=('nop',))
    yield Form('pushfq')
    # IF, DF, arithmetic, IOPL, NT, AC, ID; never TF.
    for value in (0x2, 0x202, 0x246, 0x8d7, 0xed7, 0xcd7, 0x3202, 0x4002,
                  0x40202, 0x200202, 0x240a93):
        yield from _forms(f'popfq : pushq ${value:#x} = popfq of {value:#x}')
    yield from _forms('xlatb : movzbl %al, %eax | '
                      '.byte 0x48, 0xd7 : movl $0x91, %eax = rex.w xlatb',
                      (_S,))
    yield from _forms('clac | stac')


@group
def flags_with_prefixes():
    for prefix in ('0x2e', '0x48', '0x4f', '0xf3'):
        yield from _forms(f'''
            .byte {prefix}, 0x9c = {prefix} pushfq |
            .byte {prefix}, 0xfa = {prefix} cli |
            .byte {prefix}, 0xfb = {prefix} sti |
            .byte {prefix}, 0x9d : pushq $0x246 = {prefix} popfq''')


@group
def jcc():
    for number, condition in enumerate(CONDITIONS):
        for backward, way in ((False, 'forward'), (True, 'backward')):
            yield Form(jump_bytes(f'{0x70 + number:#x}', size=1),
                       backward=backward, name=f'j{condition} short {way}')
            yield Form(jump_bytes(f'0x0f, {0x80 + number:#x}'),
                       backward=backward, name=f'j{condition} near {way}')
        yield Form(jump_bytes(f'0x0f, {0x80 + number:#x}', 'forms_taken'),
                   to='forms_taken', name=f'j{condition} far off')


@group
def jcc_with_prefixes():
    for prefix in ('0x2e', '0x3e', '0xf2', '0x48'):
        for number, condition in ((4, 'e'), (5, 'ne'), (15, 'g')):
            yield Form(jump_bytes(f'{prefix}, {0x70 + number:#x}', size=1),
                       name=f'{prefix} j{condition} short')
            yield Form(jump_bytes(f'{prefix}, 0x0f, {0x80 + number:#x}'),
                       name=f'{prefix} j{condition} near')


@group
def direct_jumps_and_calls():
    kinds = (('0xeb', 1, 'jmp short'), ('0xe9', 4, 'jmp near'), ('0xe8', 4, 'call'))
    for backward, way in ((False, 'forward'), (True, 'backward')):
        for opcode, size, name in kinds:
            yield Form(jump_bytes(opcode, size=size), backward=backward, name=f'{name} {way}')
    for opcode, name in (('0xe9', 'jmp'), ('0xe8', 'call')):
        yield Form(jump_bytes(opcode, 'forms_taken'), to='forms_taken', name=f'{name} far off')
    yield from _forms('.byte 0xe8, 0, 0, 0, 0 = call of what follows | '
                      '.byte 0xeb, 0 = jmp to what follows')
    for prefix in ('0x2e', '0x3e', '0xf2', '0x48'):
        for opcode, size, name in kinds:
            yield Form(jump_bytes(f'{prefix}, {opcode}', size=size), name=f'{prefix} {name}')


@group
def branches_in_regions():
    """What matters to a jump that is over them."""
    # To where the probe is, as CMC sets the carry: another hit.
    for to in ('{second}', '{third}'):
        for opcode, size in (('0x72', 1), ('0x0f, 0x82', 4)):
            yield Form(jump_bytes(opcode, to, size), second='cmc',
                       flags=('FORM_AGAIN',),
                       name=f'jc to {to[1:-1]}, {size} bytes')
    followed = ('FORM_FOLLOWED',)
    # To the byte behind the jump, if that is at the form; or one before it.
    for between in ('notq %r10', 'notl %eax'):
        for opcode in (0x74, 0x75, 0xeb):
            yield Form(jump_bytes(f'{opcode:#x}', '.Lover@', 1),
                       follow=(between, '.Lover@:', 'notq %r11'),
                       flags=followed, name=f'{opcode:#x} over {between}')
    for opcode in (0x74, 0x75, 0x72, 0x73):
        yield Form(f'.byte {opcode:#x}, 0', name=f'{opcode:#x} to what follows')
    # One after the other; both lead away.
    for one, other in ((0x74, 0x72), (0x75, 0x73), (0x78, 0xeb)):
        yield Form(jump_bytes(f'{one:#x}', size=1),
                   follow=(f'.byte {other:#x}, .Ltaken@ - .Lbehind@',
                           '.Lbehind@:'),
                   flags=followed, name=f'{one:#x}, {other:#x}')
    # Whoever is called sees where it returns to, and does.
    for text, called in (('call .Lcallee@', 'call'), ('.byte 0x2e; call .Lcallee@', '0x2e call')):
        yield Form(text, flags=followed,
                   callee=('.Lcallee@:', 'movq (%rsp), %rax', '.byte 0xc3'),
                   name=f'{called} of what returns')
    for text, follow in (('pushfq', ('popfq',)), ('pushfq', ('popq %rcx',)),
                         ('cli', ('sti', 'nop')), ('std', ('cld',)),
                         ('pushq %rbx', ('popq %rcx',)),
                         ('stc', ('jc .Ltaken@',)),
                         ('clc', ('jc .Ltaken@',))):
        yield Form(text, follow=follow, flags=followed,
                   name=f'{text}, {follow[0].replace(".Ltaken@", "taken")}')


def _counted(opcodes, counts, prefix=''):
    names = {0xe0: 'loopne', 0xe1: 'loope', 0xe2: 'loop', 0xe3: 'jrcxz'}
    for opcode in opcodes:
        for count in counts:
            for backward in (False, True):
                yield Form(jump_bytes(f'{prefix}{opcode:#x}', size=1),
                           (f'movabsq ${count:#x}, %rcx',),
                           backward=backward,
                           name=f'{prefix}{names[opcode]} of {count:#x}'
                           + (', backward' if backward else ''))


@group
def jrcxz():
    yield from _counted([0xe3], (0, 1, 1 << 32))


@group
def jecxz():
    yield from _counted([0xe3], (0, 1, 1 << 32, (1 << 32) | 5), '0x67, ')


@group
def loops():
    yield from _counted([0xe0, 0xe1, 0xe2], (0, 1, 2, 1 << 32, 7))
    yield from _counted([0xe0, 0xe1, 0xe2], (0, 1, 2, 1 << 32), '0x67, ')


@group
def returns():
    target = ('leaq {taken}(%rip), %rax', 'pushq %rax')
    for prefix in ('', '0xf3, ', '0xf2, ', '0x2e, ', '0x48, '):
        yield Form(f'.byte {prefix}0xc3', target, name=f'{prefix}ret')


@group
def returns_that_release():
    yield from _forms('retq $0 | retq $8 | retq $16 | retq $136 | '
                      '.byte 0xf3, 0xc2, 16, 0 = 0xf3, ret 16',
                      ('leaq {taken}(%rip), %rax', 'pushq %rax'))


@group
def indirect_by_register():
    for register in ('rax', 'rcx', 'rdx', 'rbx', 'rbp', 'rsi', 'rdi', 'r8',
                     'r9', 'r10', 'r11', 'r12', 'r13', 'r14', 'r15'):
        yield from _forms(f'jmp *%{register} | call *%{register}',
                          (f'leaq {{taken}}(%rip), %{register}',))
    for prefix in ('0x2e', '0x3e', '0x48'):
        yield from _forms(f'.byte {prefix}, 0xff, 0xe2 = {prefix} jmp *%rdx | '
                          f'.byte {prefix}, 0xff, 0xd2 = {prefix} call *%rdx',
                          ('leaq {taken}(%rip), %rdx',))


@group
def indirect_by_memory():
    for name in ('jmp', 'call'):
        for operand, setup in MODES:
            yield Form(f'{name} *{operand}',
                       setup + ('leaq {taken}(%rip), %r15',
                                f'movq %r15, {operand}'))
        yield Form(f'{name} *8(%rsp)',
                   ('leaq {taken}(%rip), %r15', 'pushq %r15', 'pushq %r15',
                    'pushq $0'), name=f'{name} *8(%rsp), pushed')


@group
def locked():
    modes = _modes(2)
    yield from _rows('add or adc sbb and sub xor xadd xchg cmpxchg', SIZES,
                     ('lock {n} %{last}, {m}',), modes)
    yield from _rows('inc dec neg not', SIZES, ('lock {n} {m}',), modes)
    yield from _rows('bts btr btc', 'wlq', ('lock {n} $4, {m}',), modes)


@group
def compare_and_exchange():
    yield from _rows('cmpxchg', SIZES, (
        '{n} %{r[1]}, %{r[2]}', *['{n} %{r[1]}, {m}'] * 3,
        f'{{n}} %{{r[1]}}, (%rbx) : {_S}; movq (%rbx), %rax = {{n}}, equal'),
                     _modes(4))
    for prefix in ('', 'lock '):
        for name, width, letter in (('cmpxchg8b', 4, 'e'), ('cmpxchg16b', 8, 'r')):
            yield from _forms(f'''
                {prefix}{name} S+16(%rip) |
                {prefix}{name} (%rbx) : {_S}; mov (%rbx), %{letter}ax;
                mov {width}(%rbx), %{letter}dx = {prefix}{name}, equal''')


@group
def nothing():
    # As bytes: an assembler may make more than one of .nops.
    yield from _forms('''
        .byte 0x90 = nop of 1 bytes |
        .byte 0x66, 0x90 = nop of 2 bytes |
        .byte 0x0f, 0x1f, 0 = nop of 3 bytes |
        .byte 0x0f, 0x1f, 0x40, 0 = nop of 4 bytes |
        .byte 0x0f, 0x1f, 0x44, 0, 0 = nop of 5 bytes |
        .byte 0x66, 0x0f, 0x1f, 0x44, 0, 0 = nop of 6 bytes |
        .byte 0x0f, 0x1f, 0x80, 0, 0, 0, 0 = nop of 7 bytes |
        .byte 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 = nop of 8 bytes |
        .byte 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 = nop of 9 bytes |
        .byte 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
        = nop of 11 bytes |
        .byte 0xf2, 0x90 = repne nop | .byte 0x48, 0x90 = rex.w nop |
        pause | endbr64 | endbr32 | lfence | mfence | sfence | fwait |
        prefetcht0 8(%rax) | prefetchnta S(%rip) | prefetchw S(%rip) |
        clflush S(%rip) | .byte 0x41, 0x90 = xchg %eax, %r8d |
        .byte 0x0f, 0x1f, 0xc3 = nop %ebx''')


@group
def cpu():
    ax, cx, dx = 1, 2, 4
    for leaf in (0, 1, 7, 0x80000001):
        yield from _forms(f'cpuid : movl ${leaf:#x}, %eax; movl $0, %ecx = cpuid of {leaf:#x}')
    yield Form('rdtsc', flags=(str(ax | dx),))
    for text, loose, feature in (('rdtscp', ax | dx | cx, 'RDTSCP'),
                                 ('rdrand %rax', ax, 'RDRAND'),
                                 ('rdseed %eax', ax, 'RDSEED')):
        yield Form(text, flags=(str(loose),), feature=f'X86_FEATURE_{feature}')
    yield Form('xgetbv', ('movl $0, %ecx',))
    for register in ('cr0', 'cr2', 'cr3', 'cr4', 'cr8', 'dr0', 'dr6', 'dr7'):
        # Other tasks change these two.
        loose = (str(cx),) if register in ('cr2', 'cr3') else ()
        yield Form(f'movq %{register}, %rcx', flags=loose)
        if register not in ('cr2', 'dr6'):
            yield Form(f'movq %rcx, %{register}', (f'movq %{register}, %rcx',), flags=loose)
    yield from _forms('''
        clts | smswq %rax | sldtq %rax | strq %rax | sgdt S(%rip) |
        sidt S(%rip) | smsww S+4(%rip) | strw S+8(%rip) |
        lgdt S+2(%rip) : sgdt S+2(%rip) | lmsw %ax : smsww %ax |
        lldt %ax : sldtw %ax | invlpg S(%rip) | wbinvd''')
    yield from _forms('larl %ecx, %eax | lsll %ecx, %eax | verr %cx | '
                      'verw %cx', ('movl $0x18, %ecx',))
    # MSR_TSC_AUX, MSR_STAR: read, and written with what is there.
    for msr in ('0xc0000103', '0xc0000081'):
        yield from _forms(f'rdmsr = rdmsr of {msr} | '
                          f'wrmsr : rdmsr = wrmsr of {msr}',
                          (f'movl ${msr}, %ecx',))
    for size, register in (('b', 'al'), ('w', 'ax'), ('l', 'eax')):
        yield from _forms(f'''
            in{size} $0x80, %{register} | out{size} %{register}, $0x80 |
            in{size} %dx, %{register} : movl $0x80, %edx |
            out{size} %{register}, %dx : movl $0x80, %edx''')
    yield from _forms('monitor : leaq S(%rip), %rax; movl $0, %ecx; '
                      'movl $0, %edx', feature='X86_FEATURE_MWAIT')


# Less than as long as it may be: MOVL of 11 bytes.
_LONG = '0xc7, 0x84, 0x24, 8, 0, 0, 0, 0x78, 0x56, 0x34, 0x12'


@group
def long_instructions():
    """As long as they may be, 13 bytes and less with prefixes of no use."""
    for number in (0, 1, 2):
        yield Form('.byte ' + '0x3e, ' * number + _LONG, name=f'movl of {11 + number} bytes')


@group
def longest_instructions():
    # C dies of 14 bytes.
    flags = {14: ('FORM_KILLS_C',), 15: ()}
    for number in (14, 15):
        yield Form('.byte ' + '0x3e, ' * (number - 11) + _LONG,
                   name=f'movl of {number} bytes', flags=flags[number])
    for number in (14, 15):
        yield Form('.byte ' + '0x66, ' * (number - 2) + '0x89, 0xc8',
                   name=f'movw of {number} bytes', flags=flags[number])
    rip = '0xc7, 0x05; .long S - {next}, 0x12345678'
    yield Form('.byte 0x3e, 0x3e, 0x3e, ' + rip, name='movl of 13 bytes, by rip')
    for number in (14, 15):
        yield Form('.byte ' + '0x3e, ' * (number - 11) + '0x48, ' + rip,
                   name=f'movq of {number} bytes, by rip',
                   flags=flags[number])


# Where nothing is: the last page, and an address that is none.
_NOWHERE = ('movq $-4096, %rbx',)
_NO_ADDRESS = ('movabsq $0x8000000000000000, %rbx',)
_FAULTS = ('FORM_FAULTS',)
_DIES = ('FORM_FAULTS', 'FORM_KILLS_C')


@group
def fixed_up_page_faults():
    yield from _forms('''
        movq (%rbx), %rax | movb %cl, 5(%rbx) | addl $3, (%rbx) |
        lock xaddq %rcx, (%rbx) | movzbl (%rbx), %edx | pushq (%rbx) |
        popq (%rbx) | cmpxchgq %rcx, (%rbx) | movups (%rbx), %xmm3 |
        vmovups %ymm3, (%rbx) | btsl $3, (%rbx)''',
                      _NOWHERE, flags=_FAULTS, fixup=True)
    yield from _forms('rep movsb | rep movsq', (
        'leaq S(%rip), %rsi', 'movq $-4096, %rdi', 'movl $3, %ecx'),
                      flags=_FAULTS, fixup=True)
    yield Form('lodsq', ('movq $-4096, %rsi',), flags=_FAULTS, fixup=True)


@group
def fixups_not_needed():
    for operand, setup in MODES[::3]:
        yield from _forms(f'movq {operand}, %rax | movl %ecx, {operand}', setup, fixup=True)
    yield from (Form(form.text, form.setup, fixup=True, name=form.name)
                for form in _strings('rep', ('movs',), (7,)))


@group
def fixed_up_branches():
    for name in ('jmp', 'call'):
        for operand in ('(%rbx)', '0x40(%rbx)', '8(%rbx,%rsi,8)'):
            yield Form(f'{name} *{operand}', _NOWHERE + (_INDEX,), flags=_FAULTS, fixup=True)
        yield Form(f'{name} *(%rbx)', _NO_ADDRESS, flags=_FAULTS, fixup=True,
                   name=f'{name} *(%rbx), no address')


@group
def fixed_up_protection_faults():
    yield from _forms('movq (%rbx), %rax | movb %cl, (%rbx) | pushq 8(%rbx) | '
                      'addq %rcx, 16(%rbx) | movups (%rbx), %xmm3',
                      _NO_ADDRESS, flags=_DIES, fixup=True)
    # An MSR of the x2APIC, which is off.
    msr = 'movl $0x802, %ecx; movl $0, %eax; movl $0, %edx'
    yield from _forms(f'''
        xgetbv : movl $0x1234, %ecx |
        rdmsr : {msr} = rdmsr of 0x802 | wrmsr : {msr} = wrmsr of 0x802 |
        movl %ecx, %ds : movl $0xfff8, %ecx = movl %ecx, %ds, no such segment
        ''', flags=_DIES, fixup=True)


@group
def fixed_up_division_errors():
    for size in SIZES:
        yield from _forms(f'''
            div{size} %{REGISTERS[size][1]} : movl $0, %ecx |
            idiv{size} 8(%rbx) : {_S}; movq $0, 8(%rbx)''',
                          flags=_DIES, fixup=True)


# By a breakpoint the CPU would not come back from them, or not find its own
# data. In a detour the handlers are over then.
MOVES = ('iretq', 'swapgs', 'movl %eax, %gs', 'popq %gs')


@group
def refused():
    """Both implementations refuse these, with the same errno."""
    for table, errno in (
            ('ud2 | ud1l %eax, %ecx | .byte 0x0f, 0xff, 0xc1 | int3 | '
             'int $0x80 | .byte 0xf1', 'EILSEQ'),
            ('movl %eax, %ss', 'EINVAL'),
            ('iretq | lcall *(%rbx) | ljmp *(%rbx) | vmcall | vmlaunch',
             'EOPNOTSUPP')):
        yield from _forms(table, refused=errno)
    for text, into in (('movl $0x12345678, %eax', 1), ('nopw 8(%rax)', 2),
                       ('vpor %xmm1, %xmm2, %xmm3', 1)):
        yield Form(text, into=into, refused='EILSEQ', name=f'{text}, {into} bytes into it')


@group
def refused_though_c_takes_them():
    yield from _forms('''
        hlt | mwait | swapgs | lretq | lretq $8 | sysretq | syscall |
        sysenter | lidt (%rbx) | vmmcall | movl %eax, %gs | popq %gs |
        xbegin .Lnext@ | xend | xabort $1 | getsec | rsm |
        .byte 0x66, 0x74, 0 | .byte 0x66, 0xeb, 0 | .byte 0x66, 0xc3 |
        .byte 0x66, 0x9c | .byte 0x66, 0xe2, 0''', refused='EOPNOTSUPP')
    # Nothing at all.
    yield from _forms('.byte 0x06 | .byte 0x0f, 0x04', refused='EILSEQ')
    for next_one in ('hlt', 'mwait'):
        yield Form('sti', follow=(next_one,), refused='EOPNOTSUPP', name=f'sti before {next_one}')


# What stands behind a vector form, so that C's taking it for a branch by an
# immediate from 5 on ends in a place that says so.
_SLED = 64


def _vector(names, feature='0', registers='xmm', immediate='', start=0):
    """Two operands: of registers, and of memory that is aligned."""
    modes = itertools.cycle([
        ('S+16(%rip)', ()), ('(%rbx)', (_S,)), ('S-64(%rip)', ()),
        ('0x20(%rbx,%rsi,8)', (_S, 'movl $4, %esi')),
        ('0xa0(%r9)', ('leaq S(%rip), %r9',)),
        ('16(%rsp)', ()), ('-0x30(%r12)', ('leaq S(%rip), %r12',))])
    for number, name in enumerate(names.split()):
        operand, setup = next(modes)
        one, two = (number + start) % 8, (number * 3 + 9) % 16
        yield Form(f'{name} {immediate}%{registers}{one}, %{registers}{two}', feature=feature)
        yield Form(f'{name} {immediate}{operand}, %{registers}{two}', setup, feature=feature)


@group
def sse_integer():
    yield from _vector(
        'paddb paddw paddd paddq paddsb paddsw paddusb paddusw psubb psubw '
        'psubd psubq psubsb psubsw psubusb psubusw pmullw pmulhw pmulhuw '
        'pmuludq pmaddwd psadbw pavgb pavgw pminub pmaxub pminsw pmaxsw '
        'pand pandn por pxor pcmpeqb pcmpeqw pcmpeqd pcmpgtb pcmpgtw '
        'pcmpgtd packsswb packssdw packuswb punpcklbw punpcklwd punpckldq '
        'punpcklqdq punpckhbw punpckhwd punpckhdq punpckhqdq psllw pslld '
        'psllq psrlw psrld psrlq psraw psrad')
    yield from _vector('pshufd pshufhw pshuflw', immediate='$0x1b, ')
    for name in ('psllw', 'pslld', 'psllq', 'psrlw', 'psrld', 'psrlq',
                 'psraw', 'psrad', 'pslldq', 'psrldq'):
        yield Form(f'{name} $5, %xmm3')


@group
def sse_float():
    for kind in ('ps', 'pd', 'ss', 'sd'):
        yield from _vector(' '.join(f'{name}{kind}' for name in (
            'add', 'sub', 'mul', 'div', 'min', 'max', 'sqrt')))
        yield from _vector(f'cmp{kind}', immediate='$2, ')
    for kind in ('ps', 'pd'):
        yield from _vector(' '.join(f'{name}{kind}' for name in (
            'and', 'andn', 'or', 'xor', 'unpckl', 'unpckh')))
        yield from _vector(f'shuf{kind}', immediate='$0x1b, ')
    yield from _vector('rcpps rsqrtps ucomiss ucomisd comiss comisd '
                       'cvtps2pd cvtpd2ps cvtdq2ps cvtps2dq cvttps2dq '
                       'cvtdq2pd cvtpd2dq cvttpd2dq cvtss2sd cvtsd2ss')
    for name in ('cvtsi2ss', 'cvtsi2sd'):
        for size, register in (('l', 'ecx'), ('q', 'r10')):
            yield from _forms(f'{name}{size} %{register}, %xmm4 | '
                              f'{name}{size} S+8(%rip), %xmm11')
    for name in ('cvtss2si', 'cvtsd2si', 'cvttss2si', 'cvttsd2si'):
        for register in ('ecx', 'r10'):
            yield from _forms(f'{name} %xmm9, %{register} | {name} S+8(%rip), %{register}')


@group
def sse_moves():
    for name in ('movaps', 'movups', 'movapd', 'movupd', 'movdqa', 'movdqu'):
        yield from _vector(name)
        yield from _forms(f'{name} %xmm9, S+32(%rip) | {name} %xmm1, (%rbx) : {_S}')
    for name in ('movss', 'movsd', 'movq'):
        yield from _forms(f'{name} %xmm1, %xmm12 | {name} S+8(%rip), %xmm12 | '
                          f'{name} %xmm12, 8(%rbx) : {_S}')
    for name in ('movlps', 'movhps', 'movlpd', 'movhpd'):
        yield from _forms(f'{name} S+8(%rip), %xmm2 | {name} %xmm2, S+8(%rip)')
    for name in ('movntps', 'movntpd', 'movntdq'):
        yield Form(f'{name} %xmm2, S+16(%rip)')
    yield from _forms('''
        movhlps %xmm1, %xmm2 | movlhps %xmm1, %xmm2 |
        movd %ecx, %xmm3 | movq %r10, %xmm3 | movd %xmm3, %edx |
        movq %xmm9, %r11 | movd S(%rip), %xmm3 | movd %xmm3, S(%rip) |
        movmskps %xmm3, %ecx | movmskpd %xmm3, %ecx | pmovmskb %xmm9, %r10d |
        pinsrw $3, %ecx, %xmm3 | pinsrw $3, S(%rip), %xmm3 |
        pextrw $3, %xmm3, %ecx | ldmxcsr S(%rip) : movl $0x5f80, S(%rip) |
        stmxcsr S+4(%rip) | movnti %rcx, S(%rip) |
        maskmovdqu %xmm1, %xmm2 : leaq S(%rip), %rdi''')


@group
def sse3_and_on():
    sse3, ssse3, sse41, sse42 = (f'X86_FEATURE_{name}' for name in (
        'XMM3', 'SSSE3', 'XMM4_1', 'XMM4_2'))
    yield from _vector('addsubps addsubpd haddps haddpd hsubps hsubpd '
                       'movsldup movshdup movddup', sse3)
    yield Form('lddqu S+3(%rip), %xmm4', feature=sse3)
    yield from _vector('pshufb phaddw phaddd phaddsw phsubw phsubd phsubsw '
                       'pmaddubsw pmulhrsw psignb psignw psignd pabsb pabsw '
                       'pabsd', ssse3)
    yield from _vector('palignr', ssse3, immediate='$5, ')
    yield from _vector('pmulld pmuldq pminsb pmaxsb pminuw pmaxuw pminsd '
                       'pmaxsd pminud pmaxud pcmpeqq packusdw ptest '
                       'phminposuw pmovsxbw pmovzxbd pmovsxwq pmovzxdq '
                       'pblendvb blendvps blendvpd', sse41)
    yield from _vector('blendps blendpd pblendw dpps dppd mpsadbw roundps '
                       'roundpd roundss roundsd insertps', sse41,
                       immediate='$2, ')
    yield from _forms('''
        pextrb $2, %xmm1, %ecx | pextrd $2, %xmm1, S(%rip) |
        pextrq $1, %xmm9, %r10 | pinsrb $2, %ecx, %xmm1 |
        pinsrd $2, S(%rip), %xmm9 | pinsrq $1, %r10, %xmm9 |
        extractps $2, %xmm1, %ecx | movntdqa S(%rip), %xmm7''', feature=sse41)
    yield from _vector('pcmpgtq', sse42)
    yield from _vector('pcmpistri pcmpistrm pcmpestri pcmpestrm', sse42, immediate='$2, ')
    for size, wide in zip(SIZES, ('edx', 'edx', 'edx', 'rdx')):
        yield from _rows('crc32', size, (f'{{n}} %{{r[1]}}, %{wide}',
                                         f'{{n}} S+8(%rip), %{wide}'),
                         feature=sse42)
    for names, feature, immediate in (
            ('aesenc aesenclast aesdec aesdeclast aesimc', 'AES', ''),
            ('aeskeygenassist', 'AES', '$5, '),
            ('pclmulqdq', 'PCLMULQDQ', '$1, '),
            ('sha1msg1 sha1msg2 sha1nexte sha256msg1 sha256msg2 sha256rnds2',
             'SHA_NI', ''),
            ('sha1rnds4', 'SHA_NI', '$2, ')):
        yield from _vector(names, f'X86_FEATURE_{feature}', immediate=immediate)


@group
def x87_and_mmx():
    # An empty register, where one is to be loaded.
    yield from _forms('''
        fld1 : ffree %st(7) | fldz : ffree %st(7) | fldpi : ffree %st(7) |
        fchs | fabs | ftst | fxam | fsqrt | frndint | fxch %st(3) |
        fadd %st(2), %st | fmul %st, %st(3) | fsub %st(1), %st |
        faddp %st, %st(1) | fdivrp %st, %st(1) | fcom %st(2) |
        fucomi %st(2), %st | fcomip %st(2), %st | fcmove %st(3), %st |
        ffree %st(4) | fincstp | fdecstp | fstp %st(2) | fninit | fnclex |
        fnstsw %ax | fnstcw S(%rip) | fnstsw S+4(%rip) |
        fldcw S(%rip) : movw $0x27f, S(%rip) | fsts S(%rip) |
        fstpl S+8(%rip) | fstpt S+16(%rip) | fists S(%rip) | fistpll S(%rip) |
        fadds S(%rip) | fmull S(%rip) | fiaddl S(%rip) |
        fildll S(%rip) : ffree %st(7) | emms''')
    for name in ('paddb', 'psubw', 'pmullw', 'pxor', 'por', 'pand',
                 'pcmpeqb', 'punpcklbw', 'packsswb', 'psllq', 'pshufb'):
        yield from _forms(f'{name} %mm1, %mm3 | {name} S+8(%rip), %mm5')
    yield from _forms('''
        movq S(%rip), %mm2 | movq %mm2, S+8(%rip) | movd %ecx, %mm1 |
        movd %mm1, %edx | pshufw $0x1b, %mm1, %mm2 | movq2dq %mm1, %xmm2 |
        movdq2q %xmm1, %mm2 | pmovmskb %mm1, %ecx''')


def _vex(names, feature, widths='xmm ymm', immediate=''):
    """Three operands."""
    for number, name in enumerate(names.split()):
        for width in widths.split():
            one, two, three = number % 8, (number + 9) % 16, (number + 4) % 16
            yield Form(f'{name} {immediate}%{width}{one}, %{width}{two}, '
                       f'%{width}{three}', feature=feature, sled=_SLED)
        width = widths.split()[number % len(widths.split())]
        operand, setup = (('S+17(%rip)', ()), ('0x21(%rbx)', (_S,)),
                          ('8(%rsp)', ()),
                          ('-5(%r9,%rsi,8)', ('leaq S(%rip), %r9',
                                              'movl $3, %esi')))[number % 4]
        yield Form(f'{name} {immediate}{operand}, %{width}{two}, '
                   f'%{width}{three}', setup, feature=feature, sled=_SLED)


_AVX, _AVX2 = 'X86_FEATURE_AVX', 'X86_FEATURE_AVX2'


@group
def avx_float():
    kinds = [('ps', 'xmm ymm'), ('pd', 'xmm ymm'), ('ss', 'xmm'), ('sd', 'xmm')]
    for kind, widths in kinds:
        yield from _vex(' '.join(f'v{name}{kind}' for name in (
            'add', 'sub', 'mul', 'div', 'min', 'max')), _AVX, widths)
    for kind in ('ps', 'pd'):
        yield from _vex(' '.join(f'v{name}{kind}' for name in (
            'and', 'andn', 'or', 'xor', 'unpckl', 'unpckh', 'addsub')), _AVX)
        yield from _vex(f'vshuf{kind} vblend{kind}', _AVX, immediate='$0x9, ')
    yield from _vector('vsqrtps vsqrtpd vrcpps vrsqrtps vcvtdq2ps '
                       'vcvtps2dq vmovsldup vmovshdup vtestps', _AVX, 'ymm')
    # vzeroall is 77 as well, and in vex_like_branches.
    yield from _forms('''
        vldmxcsr S(%rip) : movl $0x5f80, S(%rip) | vstmxcsr S+8(%rip) |
        vbroadcastss S(%rip), %ymm3 | vbroadcastsd S(%rip), %ymm9 |
        vbroadcastf128 S(%rip), %ymm3 | vextractf128 $1, %ymm3, %xmm4 |
        vinsertf128 $1, %xmm3, %ymm4, %ymm5 |
        vperm2f128 $0x21, %ymm1, %ymm2, %ymm3 |
        vmaskmovps %ymm1, %ymm2, S(%rip) |
        vmaskmovpd S(%rip), %xmm1, %xmm2''', feature=_AVX, sled=_SLED)


@group
def avx_integer():
    yield from _vex('vpaddb vpaddw vpaddd vpaddq vpaddsb vpaddusw vpsubb '
                    'vpsubusb vpmullw vpmulhw vpmuludq vpmaddwd vpsadbw '
                    'vpminub vpmaxsw vpand vpandn vpxor vpcmpgtb vpcmpgtw '
                    'vpcmpgtd vpacksswb vpackuswb vpunpcklbw vpunpckhdq '
                    'vpsllvd vpsrlvq vpshufb vphaddw vpmulhrsw vpmulld '
                    'vpminsd vpcmpeqq vpermd', _AVX2, 'ymm')
    yield from _vex('vpalignr vpblendw vmpsadbw vpblendd', _AVX2, immediate='$0x9, ')
    yield from _vector('vpabsb vpabsd', _AVX2, 'ymm')
    yield from _forms('''
        vpmovmskb %ymm9, %ecx | vptest %ymm1, %ymm2 |
        vpermq $0x1b, %ymm2, %ymm3 | vpmovzxbw %xmm1, %ymm2 |
        vpbroadcastd %xmm1, %ymm2 | vpbroadcastq S(%rip), %ymm2 |
        vpmaskmovd S(%rip), %ymm1, %ymm2 |
        vpmaskmovq %ymm1, %ymm2, S(%rip) | vextracti128 $1, %ymm2, S(%rip) |
        vinserti128 $1, S(%rip), %ymm2, %ymm3''', feature=_AVX2, sled=_SLED)
    yield from _forms(f'vpgatherdd %xmm1, (%rbx,%xmm2,4), %xmm3 : {_S}; '
                      'vpxor %xmm2, %xmm2, %xmm2', feature=_AVX2)


@group
def avx_moves():
    for name in ('vmovaps', 'vmovups', 'vmovapd', 'vmovupd'):
        for width in ('xmm', 'ymm'):
            yield from _forms(f'''
                {name} %{width}1, %{width}12 | {name} S+32(%rip), %{width}2 |
                {name} %{width}9, S+64(%rip) |
                {name} %{width}3, 32(%rbx) : {_S}''', feature=_AVX)
    for name in ('vmovdqa', 'vmovdqu'):
        for width in ('xmm', 'ymm'):
            yield from _forms(f'{name} S+32(%rip), %{width}2 | '
                              f'{name} %{width}1, %{width}12', feature=_AVX)
    yield from _forms('''
        vmovd %ecx, %xmm3 | vmovq %r10, %xmm3 | vmovss S(%rip), %xmm3 |
        vmovsd %xmm3, S(%rip) | vmovss %xmm1, %xmm2, %xmm3 |
        vmovhlps %xmm1, %xmm2, %xmm3 | vmovntps %ymm2, S(%rip)''',
                      feature=_AVX)


@group
def fma():
    names = [f'{sign}{order}{kind}'
             for sign in ('vfmadd', 'vfmsub', 'vfnmadd')
             for order in ('132', '213', '231')
             for kind in ('ps', 'pd')
             # 9A and 9C are in vex_like_branches.
             if not (sign != 'vfmadd' and order == '132')]
    yield from _vex(' '.join(names), 'X86_FEATURE_FMA')
    yield from _vex('vfmadd132ss vfmadd213sd vfmsub231ss vfnmadd213sd '
                    'vfnmsub132ps vfnmsub231sd', 'X86_FEATURE_FMA', 'xmm')
    yield from _vector('vcvtph2ps', 'X86_FEATURE_F16C')
    yield Form('vcvtps2ph $2, %ymm1, S(%rip)', feature='X86_FEATURE_F16C')


@group
def bmi():
    bmi1, bmi2 = 'X86_FEATURE_BMI1', 'X86_FEATURE_BMI2'
    for names, feature in (('andn bextr', bmi1), ('bzhi pdep pext sarx shlx shrx', bmi2)):
        for name in names.split():
            for one, two, three in (('%ecx', '%edx', '%r10d'), ('%r11', '%rax', '%rcx')):
                memory = (f'S+8(%rip), {two}'
                          if name in ('andn', 'pdep', 'pext') else
                          f'{one}, S+8(%rip)')
                yield from _forms(f'{name} {one}, {two}, {three} | '
                                  f'{name} {memory}, {three}',
                                  feature=feature)
    for name in ('blsi', 'blsr', 'blsmsk'):
        yield from _forms(f'{name} %ecx, %edx | {name} S+8(%rip), %r10', feature=bmi1)


@group
def vex_like_branches():
    """With bytes that are branches, or change flags, in the first map."""
    yield from _forms('''
        vzeroupper | vzeroall | vmovdqa %xmm1, S+16(%rip) |
        vmovdqa %ymm1, S+32(%rip) | vmovdqu %ymm9, 3(%rbx) |
        vmovd %xmm3, %ecx | vmovq %xmm3, %r10 | vmovd %xmm9, S+8(%rip) |
        vmovq S(%rip), %xmm9''', (_S,), feature=_AVX, sled=_SLED)
    yield Form('vmovdqu %ymm3, (%rbx)', _NOWHERE, flags=_FAULTS, fixup=True,
               feature=_AVX, name='vmovdqu %ymm3, (%rbx), fixed up')
    # EB, E8, E9, FA, FB, 74 to 76, E0 to E3, FF's neighbours.
    yield from _vex('vpor vpsubsb vpsubsw vpsubd vpsubq vpcmpeqb vpcmpeqw '
                    'vpcmpeqd vpavgb vpavgw', _AVX2)
    yield from _vex('vpsraw vpsrad', _AVX2, 'xmm')
    yield from _vex('vhaddps vhaddpd vhsubps vhsubpd', _AVX)
    # C2.
    for kind, widths in (('ps', 'xmm ymm'), ('pd', 'xmm ymm'), ('ss', 'xmm'), ('sd', 'xmm')):
        yield from _vex(f'vcmp{kind}', _AVX, widths, '$9, ')
    # 70 to 73, whose immediate looks like a distance.
    more = {'feature': _AVX2, 'sled': _SLED}
    for name in ('vpshufd', 'vpshufhw', 'vpshuflw'):
        for width in ('xmm', 'ymm'):
            yield from _forms(f'{name} $0x1b, %{width}1, %{width}9 | '
                              f'{name} $0x1b, S+16(%rip), %{width}9', **more)
    for name in ('vpsllw', 'vpsrlw', 'vpsraw', 'vpslld', 'vpsrld', 'vpsrad',
                 'vpsllq', 'vpsrlq', 'vpslldq', 'vpsrldq'):
        yield from _forms(f'{name} $9, %ymm1, %ymm12 | {name} $9, %xmm9, %xmm2', **more)
    # 78, 79.
    yield from _forms('vpbroadcastb %xmm1, %ymm2 | vpbroadcastw S(%rip), %ymm2', **more)
    # 9A, 9C, 9D.
    yield from _vex('vfmsub132ps vfmsub132pd vfnmadd132ps vfnmadd132pd', 'X86_FEATURE_FMA')
    yield from _vex('vfnmadd132ss vfnmadd132sd', 'X86_FEATURE_FMA', 'xmm')


@group
def far_away():
    """By RIP, of memory that is far from it: the kernel's own."""
    yield from _forms('''
        movq _ctype(%rip), %rax | cmpb $0x4c, _ctype(%rip) |
        movzbl _ctype+3(%rip), %ecx | movups _ctype(%rip), %xmm3 |
        vpaddb _ctype(%rip), %ymm1, %ymm2 | leaq _ctype(%rip), %rdx |
        pushq _ctype(%rip) | imull $3, _ctype(%rip), %edx |
        testl $0x12345678, _ctype+5(%rip)''')
