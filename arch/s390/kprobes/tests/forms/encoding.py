# SPDX-License-Identifier: GPL-2.0
"""Instructions by the kernel's own lists.

opcodes.txt has the opcode, name and format of each, dis.c the operands of each
format: D20_20 is a displacement of 20 bits from bit 20 on.
"""

import re
from collections import namedtuple

# Where the last digits of an opcode are, by the first part of its format.
_EXTENSION = {
    8: 'MII RR RS RSI RX SI SMI SS E IE RRE RRF RRR S SIL SSE',
    12: 'RI RIL SSF',
    40: 'RIE RIS RRS RSE RSL RSY RXE RXF RXY SIY VRI VRR VRS VRV VRX VSI',
}
_PLACES = {part: at for at, parts in _EXTENSION.items() for part in parts.split()}
# The bits of an operand whose name does not tell.
_BITS = {'D': 12}


class Opcode(namedtuple('Opcode', 'name digits format part operands')):
    """A line of opcodes.txt; an operand is its letter, bits and first bit."""

    @property
    def length(self):
        """In bytes, by the first two bits."""
        return (2, 4, 4, 6)[int(self.digits[0], 16) >> 2]

    def encode(self, values):
        """The instruction with these VALUES of its operands."""
        image = int(self.digits[:2], 16) << 40
        if self.digits[2:]:
            bits = 4 * len(self.digits[2:])
            image |= int(self.digits[2:], 16) << 48 - _PLACES[self.part] - bits
        for (letter, bits, at), value in zip(self.operands, values):
            if bits == 20:
                # The lower bits stand before the upper ones.
                image |= (value & 0xfff) << 16 | (value >> 12 & 0xff) << 8
                continue
            if letter in ('V', 'VX') and value > 15:
                image |= 1 << 11 - {8: 0, 12: 1, 16: 2, 32: 3}[at]
            image |= (value & (1 << bits) - 1) << 48 - at - bits
        return image.to_bytes(6, 'big')[:self.length]


def read(opcodes, dis):
    """The Opcodes in the files OPCODES and DIS."""
    with open(dis, encoding='ascii') as file:
        formats = dict(re.findall(r'\[INSTR_(\w+)\]\s*=\s*\{([^}]*)\}', file.read()))
    parsed = []
    with open(opcodes, encoding='ascii') as file:
        for digits, name, shape in map(str.split, filter(str.strip, file)):
            operands = tuple(
                (letter, int(bits or _BITS.get(letter, 4)), int(at))
                for letter, bits, at in re.findall(r'([A-Z]+)(\d*)_(\d+)', formats[shape]))
            parsed.append(Opcode(name, digits, shape, shape.partition('_')[0], operands))
    return parsed
