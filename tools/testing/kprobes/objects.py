# SPDX-License-Identifier: GPL-2.0
"""Reads a kernel's objects, for the checks of its code."""

import pathlib
import re
import struct
import subprocess
import sys
from collections.abc import Iterator

from harness import arches

_FUNCTION = re.compile(r'[0-9a-f]+ <(.+)>:$')
_INSN = re.compile(r'\s*([0-9a-f]+):\s+(\S.*)')
_SECTION = re.compile(r'\s*\[ *\d+\] (\S+)\s+(\w+)\s+([0-9a-f]+) ([0-9a-f]+) '
                      r'([0-9a-f]+) [0-9a-f]+\s+([A-Z]*) ')
_SYMBOL = re.compile(r'\s*\d+: ([0-9a-f]+)\s+(\w+) (\w+)\s.* (\S+)$')


def output(*command: object) -> str:
    """The output of COMMAND."""
    return subprocess.run(list(map(str, command)), check=True, text=True,
                          capture_output=True).stdout


def linked(names: list[str]) -> Iterator[pathlib.Path]:
    """The objects themselves, and those that a folder's built-in.a names."""
    for name in map(pathlib.Path, names):
        if not name.is_dir():
            yield name
            continue
        members = output('llvm-ar', 't', name / 'built-in.a').split()
        if not members:
            sys.exit(f'{name}/built-in.a: expected objects, found none')
        # llvm-ar puts the archive's own folder before each member's path.
        yield from map(pathlib.Path, members)


class Elf:
    """The sections and symbols of an ELF file, of any class and byte order."""

    def __init__(self, name: str | pathlib.Path) -> None:
        self.name = name
        with open(name, 'rb') as file:
            self.data = file.read()
        if self.data[:4] != b'\x7fELF':
            sys.exit(f'{name}: expected an ELF file')
        self.order = '<>'[self.data[5] - 1]
        self.word = 'IQ'[self.data[4] - 1]
        machine, = struct.unpack_from(f'{self.order}H', self.data, 18)
        records = {arch.elf: arch for arch in map(arches.of, arches.NAMES)}
        if machine not in records:
            sys.exit(f'{name}: expected machine {sorted(records)}, found {machine}')
        self.arch = records[machine]

    def sections(self) -> Iterator[tuple[str, str, int, int, int, str]]:
        """Name, type, address, offset, size and flags of each section."""
        for line in output('llvm-readelf', '-SW', self.name).splitlines():
            if match := _SECTION.match(line):
                yield (match[1], match[2], int(match[3], 16),
                       int(match[4], 16), int(match[5], 16), match[6])

    def symbols(self) -> Iterator[tuple[str, int, int, str]]:
        """Name, address, size and type of each symbol."""
        for line in output('llvm-readelf', '-sW', self.name).splitlines():
            if match := _SYMBOL.match(line):
                # The value of a Thumb function is its address and 1.
                is_odd = self.arch.thumb and match[3] == 'FUNC' and int(match[1][-1], 16) % 2
                yield match[4], int(match[1], 16) - is_odd, int(match[2], 0), match[3]

    def words(self, start: int, end: int) -> tuple[int, ...]:
        """The words between two addresses."""
        for _, kind, address, offset, size, _ in self.sections():
            if kind == 'PROGBITS' and address and address <= start and end <= address + size:
                at = offset + start - address
                return tuple(word for word, in struct.iter_unpack(
                    self.order + self.word, self.data[at:at + end - start]))
        return ()


def disassembled(name: str | pathlib.Path, *options: str) -> Iterator[tuple[str, int, str]]:
    """Function, address and text of each instruction, and each relocation."""
    function = ''
    for line in output('llvm-objdump', '-dr', '--no-show-raw-insn', *options, name).splitlines():
        if match := _FUNCTION.match(line):
            function = match[1]
        elif function and (match := _INSN.match(line)):
            yield function, int(match[1], 16), match[2]
    if not function:
        sys.exit(f'{name}: expected functions, found none')
