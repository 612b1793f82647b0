# SPDX-License-Identifier: GPL-2.0
"""The forms: which instructions are run with and without a probe.

A form is an instruction with operands, and what its registers hold: see enum
contents in state.c. Registers that are not named hold any numbers; register 15 is
the stack pointer. Each opcode of the kernel's list that can be probed, save those
of LEFT_OUT, has several choices of operands, among them equal registers and register 0.
Many of them fault, as not every CPU has them: then the exception is compared.
"""

from dataclasses import dataclass, field

# In the order of enum contents.
CONTENTS = ('ANY', 'S', 'T', 'INDEX', 'LENGTH', 'ONE', 'HIGH', 'ZERO', 'TARGET',
            'BEFORE', 'POINTER', 'MASKS', 'NOWHERE', 'BEYOND')


@dataclass
class Form:
    """One form."""

    name: str
    code: bytes
    registers: dict = field(default_factory=dict)
    flags: tuple = ()
    # The errno with which it cannot be probed.
    refused: str = '0'
    # The first bit and the length of the distance to where a branch leads.
    distance: tuple = ()
    backward: bool = False
    # Its operand of 32 bits, from bit 16 on, is the distance to the memory for operands.
    relative: bool = False
    # What EXRL executes; is the probe there?
    executed: bytes = b''
    at_executed: bool = False
    # The probe is this many bytes into it.
    into: int = 0
    # The exception table has it.
    fixup: bool = False

    @property
    def branches(self):
        """Does it lead to a landing?"""
        return bool(self.distance or {'TARGET', 'BEFORE', 'POINTER'} & {*self.registers.values()})

    @property
    def alone(self):
        """Must it be the only one in its function, as decoders may stop there?"""
        return self.refused != '0'


# Operands by letter, in the turn of choices. Register 15 is the stack, 12 to 14 hold addresses.
_REGISTERS = ((2, 4, 6), (4, 4, 4), (0, 2, 4), (6, 0, 2), (3, 9, 7), (10, 8, 0), (8, 6, 10))
_POINTERS = ((2, 4, 6), (4, 4, 4), (8, 2, 6), (6, 10, 2), (3, 9, 7))
_FLOATS = ((0, 2, 4), (4, 4, 4), (1, 3, 6), (8, 9, 12), (5, 0, 13), (13, 8, 9), (2, 0, 0))
_VECTORS = ((1, 2, 3, 4), (5, 5, 5, 5), (17, 2, 19, 4), (1, 18, 3, 20), (31, 30, 29, 28),
            (0, 16, 0, 16), (8, 24, 9, 7))
# Base, index, displacement.
_ADDRESSES = ((12, 0, 8), (12, 14, 0x18), (0, 12, 3), (12, 0, 0), (12, 14, -0x28), (12, 0, 0x41),
              (0, 12, 0x50))
_NUMBERS = {
    'L': (7, 0, 15, 31, 63, 1, 3),
    'U': (0x5a5aa5a1, 3, 0, 0xffffffff, 0x12345678, 0x80008008, 2),
    'I': (0x5a5aa5a1, -1, 0, 0x7fffffff, 3, -0x80000000, 0x12345678),
    'A': (2, 3, 4, 0, 9, 15, 1),
    'C': (9, 11, 0, 1, 13, 15, 7),
}
CHOICES = range(6)

# What the registers of an instruction that finds memory by them hold, in turn: p an address, P
# that and a length behind it, l a length, z zero; behind @ what registers 0 and 1 hold.
_FINDS_MEMORY = {
    **dict.fromkeys('mvcl clcl mvcle clcle mvclu clclu cu12 cu21 cu14 cu24 cu41 cu42'.split(),
                    'PP'),
    **dict.fromkeys('mvst clst srst srstu mvpg'.split(), 'pp@z'),
    **dict.fromkeys('trtre trte'.split(), 'Pp@zs'),
    **dict.fromkeys('km kmc kmf kmo kmctr kma prno dfltcc sortl'.split(), 'PPP@zp'),
    **dict.fromkeys('kimd klmd kmac kdsa'.split(), 'PP@zp'),
    **dict.fromkeys('ptff pckmo pcc pfpo plo nnpa upt'.split(), '@zp'),
    **dict.fromkeys('lura lurag iske ivsk mvck'.split(), 'zz'),
    **dict.fromkeys('mvcsk mvcdk'.split(), '@zz'),
    'cksm': 'pP', 'tre': 'Pp', 'cuse': 'PP@z', 'cmpsc': 'PP@zp', 'cfc': '@zp',
    'lptea': 'zz', 'mvcrl': '@z', 'mvcos': 'l', 'csp': 'zp', 'cspg': 'zp',
}
_LETTERS = {'p': 'ST', 's': 'SS', 'z': ('ZERO', 'ZERO'), 'l': ('LENGTH',)}

# Opcodes without a form, by what they do on a CPU that has them; most are privileged.
LEFT_OUT = frozenset(' '.join((
    # Start and stop channels and devices, or take status that the kernel waits for.
    'csch hsch msch ssch stsch tsch rsch xsch sal schm rchp stcrw tpi siga chsc',
    # Reach PCI devices, and queues of crypto cards.
    'pcistg pcistgi pcistb pcistbi pciwb pcilg pcilgi rpcit mpcifc stpcifc sic clp nqap dqap pqap',
    # Call firmware or a hypervisor, which may take or change memory; tell other CPUs.
    'servc iucv uvc essa sthyi ptf sigp',
    # Invalidate what translates addresses.
    'ipte idte crdte rdp',
    # Write to real addresses and expanded storage, and use the keys of storage.
    'pfmf tb sske rrbe irbm rrbm stura sturg pgin pgout',
    # Load clocks, timers, control registers and others that the kernel relies on.
    'spx sck sckc spt sckpf lctl lctlg ssar lasp lpp lbear',
    # Steer counters, samples and the guarded storage of a task.
    'lcctl lpctl lsctl scctr lric stric mric rinext rion tric rioff riemit lgsc stgsc',
    # Reads the CPU timer into a register: never the same twice.
    'ectg',
    # Add elements of a vector register, which holds any numbers, to the address of memory.
    'vgef vgeg vscef vsceg',
    # Reads sizes from register 0, and QEMU ends with an assertion at those that do not exist.
    'csst',
    # Translate by a table that is larger than the scratch memory, or as long as it.
    'trtt trto trot troo')).split())
# The same each time only if nothing is read of it.
_VARIES = frozenset('stck stckf stcke stckc stpt'.split())
# Only with this operand: the address space and the key that the kernel has.
_ONLY = {'sac': 0x300, 'sacf': 0x300, 'spka': 0}
# The address is no memory's.
_NO_MEMORY = frozenset('''la lay sll srl sla sra slda sldl srda srdl sllg srlg slag srag rll rllg
    sllk srlk slak srak'''.split())
# Registers that are loaded from one to another, not around the stack pointer.
_LOADS_MANY = frozenset('lm lmy lmg lmh lmd'.split())
# Memory of other address spaces, which may be missing.
_FIXED_UP = frozenset('mvcp mvcs mvcos'.split())

REFUSED = frozenset('''bakr bassm brkpt bsa bsg bsm diag ex illegal lpsw lpswe lpswey mc pc pr pt
    pti rp sam24 sam31 sam64 sie svc tabort tbegin tbeginc tend trap2 trap4'''.split())
_SYSTEM_MASK = frozenset('ssm stnsm stosm'.split())
# What branches test: a mask, a register that counts, two that are added, two that are compared.
_CONDITION, _LINK = 'brc brcl bc bcr bic bpp bprp'.split(), 'bal bas balr basr bras brasl'.split()
_COUNT, _SUM = 'bct bctg bctr bctgr brct brctg brcth'.split(), 'bxh bxle bxhg bxleg'.split()
_SUM += 'brxh brxle brxhg brxlg'.split()
_COMPARE = [f'c{kind}{by}' for kind in ('r', 'gr', 'lr', 'lgr', 'i', 'gi', 'li', 'lgi')
            for by in 'bj']
BRANCHES = frozenset([*_CONDITION, *_LINK, *_COUNT, *_SUM, *_COMPARE])


def _plain(opcode, choice):
    """The form of OPCODE with one CHOICE of operands; None if it is like another one."""
    finds = _FINDS_MEMORY.get(opcode.name, '').partition('@')
    table = _POINTERS if finds[0] else _REGISTERS
    if choice >= len(table):
        return None
    general = sorted(table[choice]) if opcode.name in _LOADS_MANY else list(table[choice])
    roles = list(finds[0])
    bases, registers, values = [12, 13], {}, []
    base, index, displacement = _ADDRESSES[choice]
    if not any(letter == 'X' for letter, _, _ in opcode.operands):
        base = base or 12
    if opcode.name in _ONLY or opcode.name in _NO_MEMORY and choice == 2:
        base = index = 0
        displacement = _ONLY.get(opcode.name, 5)
    counts = {}
    for letter, bits, _ in opcode.operands:
        nth = counts[letter] = counts.get(letter, -1) + 1
        if letter == 'R':
            value = general[nth]
            role = roles.pop(0) if roles else ''
            if role == 'P':
                registers |= {value: 'ST'[nth % 2], value + 1: 'LENGTH'}
            elif role:
                registers[value] = _LETTERS[role][nth % 2]
        elif letter == 'F':
            value = _FLOATS[choice][nth]
        elif letter == 'V':
            value = _VECTORS[choice][nth]
        elif letter == 'B':
            value = base if nth == 0 else bases[nth]
        elif letter == 'X':
            value = index
        elif letter == 'D':
            value = displacement if bits == 20 or displacement >= 0 else 0x28
            value += nth * 2
        elif letter == 'J':
            value = 0
        else:
            value = _NUMBERS[letter][(choice + nth) % 7]
        values.append(value)
    registers |= {12: 'S', 13: 'T', 14: 'INDEX'}
    # The first register is the base as well, as in l %r2,8(%r2).
    letters = [letter for letter, _, _ in opcode.operands]
    if choice == 3 and base == 12 and not finds[0] and {'R', 'B'} <= {*letters} and general[0]:
        first = values[letters.index('R')]
        values[letters.index('B')] = first
        registers[first] = 'S'
    for number, role in enumerate(finds[2]):
        registers[number] = _LETTERS[role][1]
    code = opcode.encode(values)
    return Form(f'{opcode.name} {code.hex()}', code, registers,
                flags=('FORM_VARIES',) if opcode.name in _VARIES else (),
                relative='J' in letters, fixup=opcode.name in _FIXED_UP)


def _copies(opcodes):
    """Those that run as a copy, by the first part of their format."""
    for opcode in opcodes:
        if opcode.name in LEFT_OUT | REFUSED | BRANCHES | _SYSTEM_MASK | {'exrl'}:
            continue
        for choice in CHOICES:
            if form := _plain(opcode, choice):
                yield opcode.part.lower(), form


def _branch_choices(opcode):
    """(values of the operands but distances, registers) of a branch, for all its masks."""
    letters = [letter for letter, _, _ in opcode.operands]
    # Where it leads: a register, or the sum of a base, an index and a displacement.
    sums = [((0, 12, 16), {12: 'BEFORE'})]
    if 'X' in letters:
        sums += [((14, 12, 8), {12: 'BEFORE', 14: 'INDEX'}), ((12, 0, 16), {12: 'BEFORE'})]
    if opcode.name == 'bic':
        sums = [((0, 12, 0), {12: 'POINTER'})]
    if 'B' not in letters:
        sums = [((0, 0, 0), {})]
    masks = range(16) if opcode.name in (*_CONDITION, *_COMPARE) else [0]
    tested = [((2, 4), {}), ((4, 4), {}), ((0, 2), {})]
    if opcode.name in _COUNT:
        tested += [((2, 4), {2: held}) for held in ('ONE', 'HIGH', 'ZERO')]
        tested += [((12, 4), {})] if 'B' in letters else []
    elif opcode.name in _SUM:
        tested += [((2, 5), {}), ((5, 5), {}), ((3, 6), {3: 'INDEX', 6: 'INDEX', 7: 'INDEX'}),
                   ((3, 7), {3: 'ZERO', 7: 'INDEX'}), ((12, 8), {})]
        tested = tested[:-1] if 'B' not in letters else tested
    elif opcode.name in _LINK:
        tested += [((14, 4), {}), ((12, 4), {})]
    elif opcode.name in _COMPARE and letters.count('R') == 1:
        tested = [((2, 0), {}), ((0, 0), {}), ((2, 0), {2: 'INDEX'})]
    if opcode.part in ('RR', 'RRE'):
        # To a register, which may be the one that is tested, or 0, for no branch.
        tested = [((first, other), {**held, 12: 'TARGET'}) for (first, _), held in tested
                  for other in (12, 0)]
        tested += [((12, 12), {12: 'TARGET'})]
    if opcode.name in _CONDITION:
        tested = [((0, 12), {12: 'TARGET'}), ((0, 0), {})] if opcode.name == 'bcr' else tested[:1]
    for mask in masks:
        for (index, base, displacement), at in sums:
            for general, held in tested:
                left = {'R': list(general), 'U': [mask], 'X': [index], 'B': [base],
                        'D': [displacement], 'I': [8], 'J': [0, 0]}
                if opcode.part == 'RR' and letters == ['U', 'R']:
                    left['R'] = [general[1]]
                if any(bits == 8 for letter, bits, _ in opcode.operands if letter == 'U'):
                    left['U'] = [8, mask]
                yield [left[letter].pop(0) for letter in letters], {**at, **held}


def _branches(opcodes):
    """Those that are emulated: taken, and not; forward and, if they can, backward."""
    for opcode in opcodes:
        if opcode.name not in BRANCHES:
            continue
        title = next(title for title, names in (
            ('condition', _CONDITION), ('link', _LINK), ('count', _COUNT), ('sum', _SUM),
            ('compare', _COMPARE)) if opcode.name in names)
        distance = next(((at, bits) for letter, bits, at in reversed(opcode.operands)
                         if letter == 'J'), ())
        for values, registers in _branch_choices(opcode):
            code = opcode.encode(values)
            for backward in (False, True) if distance else (False,):
                yield f'branch_{title}', Form(
                    f'{opcode.name} {code.hex()}' + ', backward' * backward, code, registers,
                    distance=distance, backward=backward)


def _executed(opcodes, exrl):
    """EXRL, which may change a length, an immediate operand or a register by register 2."""
    lengths, formats = {'SS': 'LENGTH', 'SI': 'LENGTH', 'RX': 'INDEX', 'RR': 'INDEX'}, set()
    for opcode in opcodes:
        if opcode.name in LEFT_OUT | BRANCHES | _SYSTEM_MASK | _LOADS_MANY | {'exrl'}:
            continue
        form = _plain(opcode, 0)
        if form.relative:
            continue
        refused = 'EINVAL' if opcode.name in REFUSED - {'illegal', 'brkpt'} | {'epsw'} else '0'
        for register in (0, 2):
            # One of each format; the others are copied in the same way.
            if register == 0 and opcode.format in formats and refused == '0' \
                    or register and (opcode.part not in lengths or refused != '0'
                                     or opcode.part == 'RR' and opcode.name in _FINDS_MEMORY):
                continue
            if opcode.name in ('illegal', 'brkpt', 'spm') or 2 in form.registers:
                continue
            formats.add(opcode.format)
            held = {**form.registers, 2: lengths[opcode.part]} if register else form.registers
            if register and opcode.part == 'RX':
                # Its index is register 8, then.
                held[8] = 'INDEX'
            yield 'executed', Form(
                f'exrl {register}, {form.name}', exrl.encode([register, 0]), held, form.flags,
                refused, executed=form.code, fixup=form.fixup)


def _others(named):
    """What has a reason of its own."""
    def form(name, *values, **more):
        code = named[name].encode(values)
        return Form(f'{name} {code.hex()}', code, **more)
    held = {12: 'S', 13: 'MASKS'}
    for number in range(4):
        yield 'system_mask', form('ssm', number, 13, registers=held)
        yield 'system_mask', form('stosm', 8 * number, 12, number, registers=held)
        yield 'system_mask', form('stnsm', 8 * number, 12, 0xfc | number, registers=held)
    for where in ('NOWHERE', 'BEYOND'):
        for name, *values in (
                ('l', 2, 8, 0, 12), ('lg', 2, 8, 0, 12), ('st', 2, 8, 0, 12), ('stg', 2, -8, 0, 12),
                ('mvc', 8, 7, 12, 0, 13), ('mvc', 8, 7, 13, 0, 12), ('lmg', 2, 4, 8, 12),
                ('stmg', 2, 4, 8, 12), ('csg', 2, 4, 0, 12), ('agsi', 8, 12, 1),
                ('clc', 0, 7, 12, 0, 13), ('tm', 0, 12, 0x80), ('xc', 0, 7, 12, 0, 12),
                ('mvi', 0, 12, 1), ('vl', 1, 0, 0, 12, 0), ('vst', 1, 0, 0, 12, 0),
                ('laag', 2, 4, 0, 12), ('mvhi', 0, 12, 1), ('ld', 2, 8, 0, 12)):
            yield 'fixed_up', form(name, *values, registers={12: where, 13: 'S'}, fixup=True)
    for name, *values in (
            ('stmg', 6, 15, 48, 15), ('lmg', 6, 14, 48, 15), ('stg', 14, 112, 0, 15),
            ('lgr', 11, 15), ('lg', 2, 152, 0, 15), ('lay', 15, -160, 0, 15), ('aghi', 15, -160),
            ('agfi', 15, -320), ('la', 2, 80, 0, 15), ('mvc', 8, 7, 15, 80, 15)):
        yield 'stack', form(name, *values)
    for digits in ('0200', '0300', 'b2fe0000', 'c00200000000', 'e30000000001', 'ff' * 6):
        yield 'refused', Form(f'unknown {digits}', bytes.fromhex(digits), refused='EINVAL')
    for name, values in (('lr', (2, 4)), ('la', (2, 8, 0, 12)), ('lg', (2, 8, 0, 12))):
        for into in range(1, named[name].length):
            inside = form(name, *values, registers=held, into=into, refused='EINVAL')
            inside.name += f', probed {into} bytes into it'
            yield 'refused', inside
    target = named['mvc'].encode((8, 7, 12, 0, 12))
    yield 'refused', form('exrl', 0, 0, registers=held, executed=target, at_executed=True,
                          refused='EINVAL')
    for name in sorted(REFUSED):
        plain = _plain(named[name], 0)
        plain.refused, plain.relative = 'EINVAL', False
        yield 'refused', plain


# How many forms are one test.
_MOST = 400


def groups(opcodes):
    """{name: forms}."""
    named = {opcode.name: opcode for opcode in opcodes}
    by_title, seen = {}, set()
    for producer in (_copies(opcodes), _branches(opcodes), _executed(opcodes, named['exrl']),
                     _others(named)):
        for title, form in producer:
            key = repr((title, form))
            if key not in seen:
                seen.add(key)
                by_title.setdefault(title, []).append(form)
    return {f'{title}_{at // _MOST + 1}' if len(forms) > _MOST else title: forms[at:at + _MOST]
            for title, forms in by_title.items() for at in range(0, len(forms), _MOST)}
