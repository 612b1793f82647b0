# SPDX-License-Identifier: GPL-2.0
"""The forms of Thumb: those of description.py that Thumb has, and its own.

A form with a condition is in an IT block. The classes of ../../isa/t16_table.rs and
t32_table.rs that can be probed are there.
"""

import re

from description import CONDITIONS, GROUPS, HELD, Form, for_users, in_groups, in_turn

_LACKS = re.compile('|'.join((
    'rsc', '(mul|mla|umull|umlal|smull|smlal)s', 'swp', r'(ldr|str)\w*t\w* .*\[ip\], ',
    '(ldm|stm)(ib|da)', r'ldm.*\^', 'msr.*#', r'(?!mov)\w+ .*(ls[lr]|asr|ror) (r\d|lr|ip)',
    r'\w+ .*(\], -?fp|, -fp|fp\]!|fp, (lsr|asr|ror))', r'(ldr|str)d.*(ip|sp|pc|fp), (fp|r11|sp)',
    r'\w+ .*(\], -?r11|, -r11|r11\]!)', r'\w+ .*\[pc, (r11|fp|#0\]|#-24)', 'str.* pc',
    '(stm|push).*(sp|pc)[,}]', r'(ldm|stm).*\{\w+\}', r'(?!ldr|pop|ldm|pld)\w+ .*\bpc\b',
    'sub.*sp$', r'(and|bic).*sp', r'str.*\[fp, sp')))

# 16 bits. In an IT block, they do not set the flags.
_NARROW = (
    'lsl* r2, r3, #7', 'lsr* r2, r3, #32', 'asr* r2, r3, #1', 'add* r2, r3, r4',
    'sub* r2, r3, r4', 'add* r2, r3, #5', 'sub* r2, r3, #7', 'mov* r2, #0x5a', 'add* r2, #0xff',
    'sub* r2, #0x80', 'rsb* r2, r3, #0', 'mul* r2, r3, r2', 'mvn* r2, r3',
    *(f'{name}* r2, r3' for name in 'and eor lsl lsr asr adc sbc ror orr bic'.split()),
    'cmp? r2, #0x5a', 'cmp? r2, r3', 'cmn? r2, r3', 'tst? r2, r3', 'cmp? lr, r9', 'add? r2, lr',
    'add? lr, r2', 'mov? lr, r9', 'mov? r2, sp', 'add? r2, sp, #8', 'add? sp, #8',
    *(f'{name}? r2, r3' for name in 'sxth sxtb uxth uxtb rev rev16 revsh'.split()),
    'push? {r2, r3}', 'push? {r2, lr}', 'pop? {r2, r3}', 'nop?')
_NARROW_MEMORY = (
    *(f'{name}? r4, [r2, {by}]' for name in 'ldr str ldrb strb ldrh strh'.split()
      for by in ('#8', 'r3')),
    'ldrsb? r4, [r2, r3]', 'ldrsh? r4, [r2, r3]', 'ldr? r4, [sp, #8]', 'str? r4, [sp, #8]',
    'ldm? r2!, {r4, r5}', 'ldm? r2, {r2, r4}', 'stm? r2!, {r4, r5}')


def _narrow(texts):
    """TEXTS with the suffix of 16 bits, and with flags where they are set."""
    for text in texts:
        name, rest = text.split(' ', 1) if ' ' in text else (text, '')
        yield f'{name}.n {rest}'.strip().replace('*', '*?')


def _blocks(forms):
    """FORMS, each with a condition in a block of its own."""
    for form in forms:
        form.name = form.name.replace('*', '' if form.condition < 14 else 's')
        if form.condition < 14:
            form.before = (f'it {CONDITIONS[form.condition]}',)
        yield form


def _narrows():
    """Instructions of 16 bits."""
    yield from _blocks(in_turn(_narrow(_NARROW)))
    yield from _blocks(in_turn(_narrow(_NARROW_MEMORY), {2: 'S', 3: 'INDEX'}))


def _wide():
    """Instructions of 32 bits that A32 lacks."""
    yield from _blocks(in_turn([
        'orn? r2, r3, r4, lsl #5', 'orns? r2, r3, #0xff00', 'addw? r2, r3, #0xabc',
        'subw? r2, r3, #0xabc', 'addw? r2, sp, #0x10', 'add?.w r2, r3, #0x5a005a', 'cpsie.w i',
        'cpsid.w i', 'wfe.w', 'pld [pc, #-8]', 'pld [ip, #-8]']))
    yield from _blocks(for_users('{}t? r2, [ip, #8]'))


def _pc():
    """What reads PC, or writes it."""
    yield from _blocks(in_turn([
        'mov?.n r2, pc', 'mov?.n lr, pc', 'add?.n r2, pc', 'add?.n lr, pc', 'add?.n r2, pc, #8',
        'addw? r2, pc, #7', 'subw? r2, pc, #9', 'ldr?.n r2, [pc, #8]', '.inst.n 0xa202',
        'ldrd? r2, r3, [pc, #8]']))
    yield from _blocks(in_turn(['mov?.n pc, r4', 'bx? r4', 'blx? r4', 'bx? lr', 'blx? lr'],
                               {4: 'TARGET', 14: 'TARGET'}))
    for name, size in (('tbb [pc, r4]', '.byte'), ('tbh [pc, r4, lsl #1]', '.short')):
        yield Form(name, {4: 'INDEX'}, table=('.rept 10', f'{size} (.Ltaken@ - .Lsite@ - 4) / 2',
                                              '.endr'))


def _branches():
    """Branches, with conditions of their own and in a block."""
    for backward in (False, True):
        for width in ('.n', '.w'):
            yield Form(f'b{width} TAKEN', backward=backward)
            for condition, suffix in enumerate(CONDITIONS):
                yield Form(f'b{suffix}{width} TAKEN', condition=condition, backward=backward)
        yield Form('bl TAKEN', backward=backward)
        yield Form('blx TAKEN', backward=backward,
                   landing=('.arm', 'ldr pc, 1f', '1: .long forms_taken', '.thumb'))
        for condition, suffix in enumerate(CONDITIONS):
            for name in ('b', 'bl'):
                yield Form(f'{name}{suffix} TAKEN', condition=condition, backward=backward,
                           before=(f'it {suffix}',))
    for name in ('cbz', 'cbnz'):
        for content in ('ZERO', 'INDEX'):
            yield Form(f'{name} r{4 if content == "ZERO" else 5}, TAKEN', {4: 'ZERO', 5: 'INDEX'})


_IN_BLOCKS = ('mov{}.w r2, r3', 'add{}.n r2, r3', 'ldr{}.n r2, [pc, #8]', 'cmp{}.n r2, r3',
              'adds{}.w r2, r3, #1', 'mrs{} r2, cpsr', 'mov{}.n r2, pc', 'strd{} r2, r3, [ip]',
              'lsr{}.n r2, r3, #1')


def _its():
    """IT, and each place in a block. What is behind in the block stores, if executed."""
    for number, first in enumerate(CONDITIONS):
        other = CONDITIONS[number ^ 1]
        for shape in ('', 't', 'e', 'tt', 'et', 'te', 'eee', 'tet', 'ett', 'tte'):
            conditions = [first] + [first if letter == 't' else other for letter in shape]
            stores = [f'str{condition}.w lr, [ip, #{4 * place}]'
                      for place, condition in enumerate(conditions)]
            yield Form(f'it{shape} {first}', behind=tuple(stores))
            place = number % len(conditions)
            text = _IN_BLOCKS[(number + len(shape)) % len(_IN_BLOCKS)].format(conditions[place])
            yield Form(text, HELD, number ^ (conditions[place] != first),
                       before=(f'it{shape} {first}', *stores[:place]),
                       behind=tuple(stores[place + 1:]))


def _refused():
    """What cannot be probed."""
    for text in ('svc #0', 'bkpt #0', 'udf #1', 'udf.w #1', 'hvc #0', 'smc #0', 'subs pc, lr, #4',
                 'mrs r2, spsr', 'msr spsr_f, r2', 'setend be', 'rfeia ip', 'srsdb sp!, #0x13',
                 'cps #0x13', 'mcr p15, 0, r2, c1, c0, 0', 'mcr p15, 0, r2, c13, c0, 4', 'bxj r4',
                 'strex r2, r3, [ip]', 'strexb r2, r3, [ip]', 'strexd r0, r2, r3, [ip]',
                 'mcr p15, 0, r2, c12, c0, 0', 'mcr p15, 0, r2, c13, c0, 3', 'vldr d3, [pc, #24]',
                 'rfedb ip', '.inst.n 0xba80', '.inst.w 0xf78f8001', '.inst.w 0xed8d0001',
                 '.inst.w 0xeeffffef', '.inst.w 0xfe000f10', '.inst.w 0xf7908000'):
        yield Form(text, refused='EINVAL', alone=True)


def groups():
    """{name: forms}."""
    shared = {producer: lambda producer=producer: _blocks(
        form for form in producer() if not _LACKS.match(form.name))
              for producer in GROUPS if producer.__name__ not in ('_pc', '_branches', '_refused')}
    producers = {producer.__name__: forms for producer, forms in shared.items()}
    producers.update({producer.__name__: producer for producer in (
        _narrows, _wide, _pc, _branches, _its, _refused)})
    return in_groups(producers)
