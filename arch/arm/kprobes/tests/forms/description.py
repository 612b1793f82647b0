# SPDX-License-Identifier: GPL-2.0
"""The forms: which instructions are run with and without a probe.

A form is an instruction with operands, and what its registers hold: see enum
contents in state.c. Registers that are not named hold any numbers; sp points into
the part of the stack that is compared. The classes of ../../isa/a32_table.rs that can
be probed are there, with several choices of operands, and one of each name with each
condition; but not what a Cortex-A15 lacks.
"""

from dataclasses import dataclass, field

# In the order of enum contents.
CONTENTS = ('ANY', 'S', 'INDEX', 'TARGET', 'BEFORE', 'POINTER', 'PSR', 'ZERO')
CONDITIONS = 'eq ne cs cc mi pl vs vc hi ls ge lt gt le'.split()
HELD = {12: 'S', 11: 'INDEX'}


@dataclass
class Form:
    """One form."""

    name: str  # as the assembler reads it; TAKEN is where it leads
    registers: dict = field(default_factory=lambda: HELD)
    # In the order of CONDITIONS; 14 is always.
    condition: int = 14
    flags: tuple = ()
    # The errno with which it cannot be probed.
    refused: str = '0'
    backward: bool = False
    # Must it be the only one in its function?
    alone: bool = False
    # Lines: before the form, a table that it reads, before it has fallen through.
    before: tuple = ()
    table: tuple = ()
    behind: tuple = ()
    # Where it leads.
    landing: tuple = ('b forms_taken',)


def _with(condition, text):
    """TEXT, whose first word has a ? where the condition goes, with that CONDITION."""
    suffix = CONDITIONS[condition] if condition < 14 else ''
    return text.replace('?', suffix)


def in_turn(texts, registers=None):
    """Each of TEXTS always executed, and with one condition, in turn.

    The first one of a name, and the first with PC, with each condition.
    """
    named = set()
    for number, text in enumerate(texts):
        kind = text.split()[0], 'pc' in text
        conditions = (14, (number + number // 14) % 14) if kind in named else range(15)
        named.add(kind)
        for condition in conditions if '?' in text else (14,):
            yield Form(_with(condition, text), registers or HELD, condition)


# The second operand: a constant, a register, one shifted by a constant or by a register.
_OPERANDS = ['#0x5a', '#0xff000000', '{m}', '{m}, lsl #3', '{m}, lsr #32', '{m}, asr #1',
             '{m}, ror #8', '{m}, rrx']
_SHIFTED = ['{m}, lsl {s}', '{m}, lsr {s}', '{m}, asr {s}', '{m}, ror {s}']
_REGISTERS = [('r2', 'r3', 'r4', 'r5'), ('r4', 'r4', 'r4', 'r4'), ('ip', 'r0', 'lr', 'r9')]
_THREE = 'and eor sub rsb add adc sbc rsc orr bic'.split()


def for_users(*texts):
    """TEXTS of loads and stores with user rights, to which state.c opens the memory."""
    for form in in_turn([text.format(name) for text in texts for name in (
            'ldr', 'str', 'ldrb', 'strb', 'ldrh', 'strh', 'ldrsb', 'ldrsh')]):
        form.flags = ('FORM_FOR_USERS',)
        yield form


def _compute():
    """Data processing."""
    def texts():
        for operand in _OPERANDS + _SHIFTED:
            for d, n, m, s in _REGISTERS:
                last = operand.format(m=m, s=s)
                for name in _THREE:
                    yield f'{name}? {d}, {n}, {last}'
                    yield f'{name}s? {d}, {n}, {last}'
                for name in ('mov', 'mvn'):
                    # rrx and shifts of mov have names of their own, which the assembler knows.
                    yield f'{name}? {d}, {last}'
                    yield f'{name}s? {d}, {last}'
                for name in ('tst', 'teq', 'cmp', 'cmn'):
                    yield f'{name}? {n}, {last}'
    yield from in_turn(texts())


def _pc():
    """Data processing that reads PC, or writes it."""
    for name in _THREE:
        yield from in_turn([
            f'{name}? r2, pc, #0x5a', f'{name}s? r2, pc, r4', f'{name}? r2, r3, pc',
            f'{name}? r2, pc, r4, lsl #2', f'{name}s? r4, r4, pc, asr #3'])
    yield from in_turn(['mov? r2, pc', 'mvn? r2, pc', 'movs? r2, pc, lsl #1', 'cmp? pc, r3',
                        'tst? r3, pc', 'teq? pc, #0x40', 'cmn? r2, pc, lsr #5'])
    for texts, held in (
            (['mov? pc, r4', 'add? pc, r4, #0', 'orr? pc, r4, r4', 'and? pc, r4, r4',
              'sub? pc, r4, #0', 'bic? pc, r4, #0', 'eor? pc, r4, #0'], {4: 'TARGET'}),
            (['add? pc, r4, #8', 'add? pc, r4, r11'], {4: 'BEFORE', 11: 'INDEX'})):
        yield from in_turn(texts, held)


_PARALLEL = [f'{prefix}{name}' for prefix in ('s', 'q', 'sh', 'u', 'uq', 'uh')
             for name in ('add16', 'asx', 'sax', 'sub16', 'add8', 'sub8')]


def _arithmetic():
    """Products, media instructions, bit fields."""
    texts = []
    for a, b, c, d in (
            ('r2', 'r3', 'r4', 'r5'), ('r2', 'r3', 'r3', 'r3'), ('lr', 'r0', 'ip', 'r1')):
        texts += [f'{name}? {a}, {b}, {c}' for name in (
            'mul', 'muls', 'smulbb', 'smulbt', 'smultb', 'smultt', 'smulwb', 'smulwt', 'qadd',
            'qsub', 'qdadd', 'qdsub', 'smuad', 'smuadx', 'smusd', 'smusdx', 'sdiv', 'udiv', 'smmul',
            'smmulr', 'usad8', 'sel', *_PARALLEL)]
        texts += [f'{name}? {a}, {b}, {c}, {d}' for name in (
            'mla', 'mlas', 'mls', 'smlabb', 'smlabt', 'smlatb', 'smlatt', 'smlawb', 'smlawt',
            'smlad', 'smladx', 'smlsd', 'smlsdx', 'smmla', 'smmlar', 'smmls', 'smmlsr', 'usada8',
            'umull', 'umulls', 'umlal', 'umlals', 'smull', 'smulls', 'smlal', 'smlals', 'umaal',
            'smlalbb', 'smlalbt', 'smlaltb', 'smlaltt', 'smlald', 'smlaldx', 'smlsld', 'smlsldx')]
        texts += [f'{name}? {a}, {b}' for name in (
            'clz', 'rev', 'rev16', 'revsh', 'rbit', 'sxtb', 'sxth', 'sxtb16', 'uxtb', 'uxth',
            'uxtb16')]
        texts += [f'{name}? {a}, {b}, {c}, ror #{8 * number}' for number, name in enumerate((
            'sxtab', 'sxtah', 'sxtab16', 'uxtab'))]
        texts += [f'uxtah? {a}, {b}, {c}', f'uxtab16? {a}, {b}, {c}, ror #16']
        texts += [f'pkhbt? {a}, {b}, {c}', f'pkhbt? {a}, {b}, {c}, lsl #7',
                  f'pkhtb? {a}, {b}, {c}, asr #9', f'ssat? {a}, #9, {b}', f'usat? {a}, #9, {b}',
                  f'ssat? {a}, #17, {b}, lsl #3', f'usat? {a}, #31, {b}, asr #4',
                  f'ssat16? {a}, #5, {b}', f'usat16? {a}, #5, {b}', f'sbfx? {a}, {b}, #3, #9',
                  f'ubfx? {a}, {b}, #31, #1', f'bfi? {a}, {b}, #4, #11', f'bfc? {a}, #0, #32',
                  f'movw? {a}, #0x6b72', f'movt? {a}, #0xffff']
    yield from in_turn(texts)


def _transfer():
    """Loads and stores of one register, or of two."""
    modes = ['[ip]', '[ip, #8]', '[ip, #-8]', '[ip, #8]!', '[ip, #-8]!', '[ip], #8', '[ip], #-8',
             '[ip, fp]', '[ip, -fp]', '[ip, fp]!', '[ip], fp', '[ip], -fp', '[sp, #4]']
    shifted = ['[ip, fp, lsl #1]', '[ip, fp, lsr #2]', '[ip, fp, asr #3]', '[ip, -fp, ror #31]!',
               '[ip], fp, lsl #2']
    texts = []
    for name in ('ldr', 'str', 'ldrb', 'strb', 'ldrh', 'strh', 'ldrsb', 'ldrsh', 'ldrd', 'strd'):
        for mode in modes + shifted * (name in ('ldr', 'str', 'ldrb', 'strb')):
            texts += [f'{name}? r2, r3, {mode}' if name[-1] == 'd' else f'{name}? r2, {mode}']
    texts += [f'{name}? ip, [ip, #4]' for name in ('ldr', 'str', 'ldrb', 'strh', 'ldrsh')]
    texts += ['swp? r2, r3, [ip]', 'swpb? r2, r3, [ip]']
    texts += [f'{name}? r2, [pc, #{at}]' for name in ('ldr', 'ldrb', 'ldrh', 'ldrsb', 'ldrsh')
              for at in (0, 4, -20)]
    texts += ['ldrd? r2, r3, [pc, #-24]', 'ldr? r2, [pc, r11]', 'ldrh? r2, [pc, r11]',
              'ldrd? r2, r3, [pc, r11]', 'ldr? r2, [pc, -r11, lsl #1]', 'str? pc, [ip]',
              'str? pc, [ip, #8]!', 'str? pc, [ip], fp', 'str? pc, [ip, fp, lsl #1]']
    yield from in_turn(texts)
    yield from for_users('{}t? r2, [ip], #8', '{}t? r2, [ip], fp')
    yield from in_turn(['ldr? pc, [ip]', 'ldr? pc, [ip, #4]', 'ldr? pc, [ip, #-4]!',
                        'ldr? pc, [ip], #4', 'ldr? pc, [ip, r11]', 'ldr? pc, [ip, -r11]!',
                        'ldr? pc, [ip], r11, lsl #1'], {12: 'POINTER', 11: 'INDEX'})


def _multiple():
    """Loads and stores of several registers."""
    lists = ['{r2}', '{r2 - r5}', '{r0, r3, lr}', '{r0 - fp}']
    texts = [f'{name}{mode}? ip{back}, {regs}' for name in ('ldm', 'stm')
             for mode in ('ia', 'ib', 'da', 'db') for back in ('', '!') for regs in lists]
    texts += ['ldmia? ip, {r2, ip}', 'stmia? ip, {r2, ip}', 'stmdb? ip, {r3, ip, lr}',
              'stmia? ip, {r2, pc}', 'stmdb? ip!, {r2 - r9, pc}', 'stmib? ip, {sp, lr}',
              'stmia? ip!, {pc}', 'ldm? ip, {r2}^']
    yield from in_turn(texts)
    yield from in_turn([f'ldm{mode}? ip{back}, {{r2, r3, pc}}' for mode in ('ia', 'ib', 'da', 'db')
                        for back in ('', '!')] + ['ldmia? ip, {pc}', 'ldmia? ip!, {r0 - r5, pc}'],
                       {12: 'POINTER'})


def _stack():
    """What makes room on the stack and fills it, and gives it back: detours use it, too."""
    yield from in_turn([
        'push? {r2}', 'push? {r2 - r5}', 'push? {r4 - fp, lr}', 'push? {r2, pc}', 'pop? {r2}',
        'pop? {r2 - r5}', 'str? r2, [sp, #-4]!', 'strd? r2, r3, [sp, #-8]!', 'ldr? r2, [sp], #4',
        'ldrd? r2, r3, [sp], #8', 'add? sp, sp, #16', 'add? sp, sp, r11', 'mov? fp, sp',
        'add? r2, sp, #8', 'sub? fp, ip, sp', 'ldm? sp, {r2 - r4}', 'stm? sp, {r2 - r4}',
        'strh? r2, [sp, #2]', 'str? sp, [sp, fp]', 'str? lr, [sp, fp, lsr #2]',
        'strb? lr, [sp, fp, lsr #2]', *(f'{name}, {mode}' for name in (
            'str? r2', 'strb? r2', 'strh? r2', 'strd? r2, r3') for mode in (
                '[sp, fp]', '[fp, sp]')),
        'and? r2, sp, r3', 'bic? sp, sp, #7', 'stmdb? sp!, {r0 - r3, ip}'])
    for form in in_turn(['pop? {pc}', 'pop? {r2, r3, pc}', 'ldr? pc, [sp], #4',
                         'ldr? pc, [sp, #8]', 'ldmib? sp, {r4, pc}']):
        form.flags = ('FORM_STACK_LEADS',)
        yield form


def _psr():
    """What reads the PSR, or changes it; barriers and hints."""
    held = {4: 'PSR', **HELD}
    yield from in_turn([
        'mrs? r2, cpsr', 'mrs? lr, cpsr', 'msr? cpsr_f, r4', 'msr? cpsr_s, r4', 'msr? cpsr_fs, r4',
        'msr? cpsr_c, r4', 'msr? cpsr_fc, r4', 'msr? cpsr_cxsf, r4', 'msr? cpsr_f, #0xf0000000',
        'msr? cpsr_f, #0', 'msr? cpsr_s, #0x000a0000', 'msr? cpsr_c, #0x13', 'cpsid i',
        'cpsie i', 'cpsid a', 'cpsie a', 'cpsid f', 'cpsie f', 'cpsid if', 'dsb', 'dmb', 'isb',
        'dbg? #0', 'nop?', 'yield?', 'sev?', 'wfe?', 'pld [ip]', 'pld [ip, #8]', 'pldw [ip, fp]',
        'pli [ip]', 'pld [pc, #8]', 'mrc? p15, 0, r2, c0, c0, 0', 'mrc? p15, 0, lr, c13, c0, 4',
        'mcr? p15, 0, r2, c7, c10, 5', 'mrrc? p15, 1, r2, r3, c2',
        'mcrr? p15, 0, r2, r3, c7'], held)
    yield from in_turn(['msr? cpsr_c, #0x93'])
    for text in ('clrex', 'ldrex? r2, [ip]', 'ldrexb? r2, [ip]', 'ldrexh? r2, [ip]',
                 'ldrexd? r2, r3, [ip]'):
        for form in in_turn([text]):
            # What is behind it is not to be probed, up to an exclusive store.
            form.alone = True
            yield form


def _branches():
    """Branches: forward and backward, to a register."""
    held = {4: 'TARGET'}
    for name in ('b', 'bl'):
        for condition in range(15):
            for backward in (False, True):
                yield Form(_with(condition, f'{name}? TAKEN'), held, condition, backward=backward)
    yield from in_turn(['bx? r4', 'blx? r4', 'bx? lr', 'blx? lr'], {4: 'TARGET', 14: 'TARGET'})
    yield Form('blx TAKEN', landing=('.thumb', 'bx pc', 'nop', '.arm', 'b forms_taken'))


def _vfp():
    """VFP and Advanced SIMD, whose registers state.c loads and stores."""
    for form in in_turn([
        'vldr? d3, [ip, #8]', 'vstr? s5, [ip, #-4]', 'vldm? ip, {d0 - d3}', 'vstm? ip!, {s2 - s5}',
        'vldmdb? ip!, {d18}', 'vpush? {d8}', 'vpop? {d9}', 'vadd?.f64 d0, d1, d2',
        'vdiv?.f32 s0, s1, s2', 'vcmp?.f32 s1, s2', 'vcvt?.s32.f32 s0, s1', 'vmov? s3, r2',
        'vmov? r2, s3', 'vmov? r2, r3, d4', 'vmov? d4, r2, r3', 'vmov?.32 r2, d4[1]',
        'vdup?.32 q8, r2', 'vmrs? r2, fpscr', 'vmrs? apsr_nzcv, fpscr', 'vmrs? r2, fpsid',
        'vmsr? fpscr, r4', 'vadd.i32 q0, q1, q2', 'vmul.f32 q8, q1, q2', 'vmov.i8 d3, #0x5a',
        'vld1.32 {d0}, [ip]', 'vst1.32 {d2}, [ip]!', 'vld2.8 {d20, d21}, [ip], fp'],
            {4: 'PSR', **HELD}):
        form.flags = ('FORM_VFP',)
        yield form


def _refused():
    """What cannot be probed."""
    for text in ('svc #0', 'bkpt #0', 'udf #1', 'hvc #0', 'smc #0', 'movs pc, lr',
                 'subs pc, lr, #4',
                 'mrs r2, spsr', 'msr spsr_f, r2', 'setend be', 'rfeia ip', 'srsdb sp!, #0x13',
                 'ldmia ip, {r2, pc}^', 'cps #0x13', 'mcr p15, 0, r2, c1, c0, 0',
                 'mcr p15, 0, r2, c12, c0, 0', 'mcr p15, 0, r2, c13, c0, 3',
                 'mcr p15, 0, r2, c13, c0, 4', 'msr spsr_fsxc, #0', 'stmia ip, {r2, pc}^', 'eret',
                 'bxj r4', 'strex r2, r3, [ip]', 'strexbeq r2, r3, [ip]', 'strexh r2, r3, [ip]',
                 'strexd r0, r2, r3, [ip]', 'vldr d3, [pc, #-24]', '.inst 0xe1000010',
                 # Undefined: media, coprocessor 0, CDP, and MCR2 of coprocessor 15.
                 '.inst 0xe6000f10', '.inst 0xe6100fb0', '.inst 0xe6500fd0', '.inst 0xe6900070',
                 '.inst 0xed8d0001', '.inst 0xee100010', '.inst 0xeeffffef', '.inst 0xfe000f10'):
        yield Form(text, refused='EINVAL', alone=True)


# How many forms are one test.
_MOST = 400


def in_groups(producers):
    """{name: forms} of what {_name: a function} yields."""
    named = {}
    for name, producer in producers.items():
        forms = list({(form.name, form.backward, form.before, form.behind): form
                      for form in producer()}.values())
        title = name[1:]
        for at in range(0, len(forms), _MOST):
            number = f'_{at // _MOST + 1}' if len(forms) > _MOST else ''
            named[title + number] = forms[at:at + _MOST]
    return named


GROUPS = (_compute, _pc, _arithmetic, _transfer, _multiple, _stack, _psr, _vfp, _branches,
          _refused)


def groups():
    """{name: forms}."""
    return in_groups({producer.__name__: producer for producer in GROUPS})
