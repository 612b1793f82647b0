#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes opcodes.rs from opcodes.txt, which says what its lines mean.

    opcodes.py [--check]

--check compares instead of writing: 1 and a word about it if they differ.
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE, MADE = HERE / 'opcodes.txt', HERE / 'opcodes.rs'

# Entries, 16 bits each; form.rs reads them.
VALID, MODRM, FIXED, NO_REX2 = 1, 2, 4, 8
IMMEDIATE = ('', 'ib', 'iw', 'id', 'iz', 'iv', 'iwib', 'ibib', 'moffs')
IMMEDIATE_SHIFT = 4
BY_PREFIX, BY_REG, BY_RM = 0x4000, 0x8000, 0xc000
PREFIXES = ('np', 'p66', 'pf3', 'pf2')

HEAD = """\
// SPDX-License-Identifier: GPL-2.0

//! Which opcodes exist, and what follows each: made by `opcodes.py` from `opcodes.txt`.
//!
//! Tables of entries, by opcode; where an opcode alone does not tell, its entry leads to a row of
//! one of the last three tables. `form.rs` reads them. Edit `opcodes.txt`, never this.

"""


class Mistake(Exception):
    """A line that cannot be meant."""


def span(text, base):
    """The numbers that "4" or "4-7" names."""
    first, _, last = text.partition('-')
    found = range(int(first, base), int(last or first, base) + 1)
    if not found:
        raise Mistake(f'nothing is in {text}')
    return found


class Line:
    """One line: opcodes, conditions, the entry of what follows."""

    def __init__(self, text):
        left, colon, right = text.partition(':')
        if not colon:
            raise Mistake('no ":"')
        self.opcodes, self.prefixes, self.mods = [], set(), set()
        self.regs, self.rms = set(), set()
        conditions = False
        for word in left.split():
            if word in PREFIXES:
                conditions = True
                self.prefixes.add(PREFIXES.index(word))
            elif word in ('mem', 'reg'):
                conditions = True
                self.mods.add(word == 'reg')
            elif word.startswith('/'):
                conditions = True
                self.regs |= set(span(word[1:], 8))
            elif word.startswith('rm'):
                conditions = True
                self.rms |= set(span(word[2:], 8))
            elif conditions:
                raise Mistake(f'{word} after a condition')
            else:
                self.opcodes += span(word, 16)
        self.entry = self._entry(right.split())
        if self.rms and self.mods != {True}:
            raise Mistake('rm says something for "reg" only')
        if (self.mods or self.regs) and not self.entry & MODRM:
            raise Mistake('conditions on a ModRM that is not there')

    @staticmethod
    def _entry(words):
        entry = VALID
        for word in words:
            if word == 'modrm':
                entry |= MODRM
            elif word == 'fixed':
                entry |= MODRM | FIXED
            elif word == 'norex2':
                entry |= NO_REX2
            elif word in IMMEDIATE[1:]:
                entry |= IMMEDIATE.index(word) << IMMEDIATE_SHIFT
            elif word != '-':
                raise Mistake(f'what is "{word}"?')
        return entry

    def cells(self):
        """(prefix, is a register, reg, rm) that the conditions name."""
        for prefix in self.prefixes or range(4):
            for mod in self.mods or (False, True):
                for reg in self.regs or range(8):
                    for rm in self.rms or range(8):
                        yield prefix, mod, reg, rm


def read(text):
    """{map: {opcode: {cell: entry}}} of the description."""
    maps, current = {}, None
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split('#')[0].strip()
        if not line:
            continue
        try:
            if line.startswith('map '):
                current = maps.setdefault(line.split()[1], {})
                continue
            parsed = Line(line)
            for opcode in parsed.opcodes:
                cells = current.setdefault(opcode, {})
                for cell in parsed.cells():
                    if cell in cells:
                        raise Mistake(f'{opcode:02x} is described before')
                    cells[cell] = parsed.entry
        except (Mistake, ValueError) as mistake:
            raise SystemExit(f'{SOURCE}:{number}: {raw.strip()}: {mistake}') from mistake
    return maps


class Rows:
    """The tables that split one opcode's entry further, without doubles."""

    def __init__(self):
        self.tables = {BY_PREFIX: [], BY_REG: [], BY_RM: []}

    def lead(self, kind, row):
        """An entry that leads to ROW, or what is the same throughout it."""
        if len(set(row)) == 1:
            return row[0]
        table = self.tables[kind]
        if row not in table:
            table.append(row)
        return kind | table.index(row)

    def entry(self, cells):
        """The entry of one opcode."""
        def of_rm(prefix, mod, reg):
            return self.lead(BY_RM, tuple(cells.get((prefix, mod, reg, rm), 0)
                                          for rm in range(8)))

        def of_reg(prefix):
            return self.lead(BY_REG, tuple(of_rm(prefix, mod, reg)
                                           for mod in (False, True) for reg in range(8)))
        return self.lead(BY_PREFIX, tuple(of_reg(prefix) for prefix in range(4)))


def rust():
    """The text of opcodes.rs."""
    rows, out = Rows(), [HEAD]
    for name, opcodes in read(SOURCE.read_text()).items():
        entries = [rows.entry(opcodes.get(opcode, {})) for opcode in range(256)]
        out.append(f'#[rustfmt::skip]\npub(super) static {name}: [u16; 256] = [\n')
        for first in range(0, 256, 8):
            out.append(f'    {listed(entries[first:first + 8])} // {first:02x}\n')
        out.append('];\n\n')
    for name, kind, width in (('BY_PREFIX', BY_PREFIX, 4), ('BY_REG', BY_REG, 16),
                              ('BY_RM', BY_RM, 8)):
        table = rows.tables[kind]
        out.append(f'#[rustfmt::skip]\npub(super) static {name}: [[u16; {width}]; '
                   f'{len(table)}] = [\n')
        for row in table:
            out.append('    [' + '\n     '.join(listed(row[at:at + 8]) for at in range(0, width, 8))
                       .rstrip(',') + '],\n')
        out.append('];\n\n')
    return ''.join(out).rstrip('\n') + '\n'


def listed(entries):
    """Entries as Rust's numbers."""
    return ' '.join(f'0x{entry:04x},' for entry in entries)


def main():
    """Returns the exit status."""
    made = rust()
    if '--check' not in sys.argv[1:]:
        MADE.write_text(made)
        return 0
    if MADE.exists() and MADE.read_text() == made:
        return 0
    print(f'{MADE}:1: expected what opcodes.py makes of opcodes.txt, found '
          'something else: run it')
    return 1


if __name__ == '__main__':
    sys.exit(main())
