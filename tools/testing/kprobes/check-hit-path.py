#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Checks that what a probe's hit runs through cannot itself be probed or panic.

    check-hit-path.py [--root SYMBOL]... [--indirect SYMBOL]... VMLINUX
    check-hit-path.py --text-of OBJECT|FOLDER...
    check-hit-path.py --direct-in OBJECT...

The first form disassembles a linked kernel and follows direct calls and jumps
from the entries of the hit path, or from each --root. It fails on a callee that
a probe could be placed on: one that is in none of .kprobes.text, the noinstr
section, the entry code and the list of NOKPROBE_SYMBOL(); on a way into Rust's
panics; and on an indirect call or jump in a function not named by --indirect.
Callees in .kprobes.text are followed further; the rest is the kernel's own care.

The second form fails on code outside .kprobes.text in objects, or in those that
a built folder puts into the kernel (initcalls, KASAN's constructors and
patched-in alternatives excepted).

The third form fails on an indirect call or jump in objects, also through one of
the kernel's thunks: in assembly whose ways are all known.
"""
import argparse
import bisect
import re
import struct
import subprocess
import sys

from objects import linked

# The entries that other code calls; those that the kernel does not have are
# left out, but at least one is there.
ROOTS = ('kprobe_int3_handler', 'kprobe_fault_handler', 'kprobe_ftrace_handler',
         'kprobe_fault_ip', 'kprobe_original_ip', 'kprobe_original_code',
         '__is_insn_slot_addr',
         'kprobe_busy_begin', 'kprobe_busy_end', 'get_kprobe',
         'kprobes_inc_nmissed_count', 'opt_pre_handler',
         'rust_kprobes_ftrace_watched', 'rust_kprobes_ftrace_changed',
         'rust_kprobes_ftrace_missed', 'rust_kprobes_detour_hit',
         'rust_kprobes_give_way', 'kprobe_original_frame',
         'rust_kprobes_function_entered', 'arch_rethook_trampoline',
         'rust_kprobes_returned', 'rethook_find_ret_addr',
         'rust_kprobes_jprobe_hit')
# What calls clients' handlers, which is the one thing that is not known here:
# the edges that the crate's inlined functions end up in, and its files of hits.
HANDLERS = re.compile(r'(kprobe_(int3|fault)_handler'
                      r'|rust_kprobes_ftrace_(watched|changed)'
                      r'|rust_kprobes_detour_hit'
                      r'|rust_kprobes_(function_entered|returned))$'
                      r'|4life(3hit|10ftrace_hit|7returns)|3abi6ftrace6called')
# Where the kernel dies because the hit path was hit, or because a function has
# returned to nowhere: what follows matters no more.
ENDS = ('rust_kprobes_hopeless', 'rust_kprobes_nowhere_to_return')
# Not functions that a probe could be placed on, though outside the sections:
# the static call that stands for preempt_schedule() and its notrace form. The
# way to the scheduler at the end of a detour may be probed: interrupts are off.
# KASAN's reports are for when nothing is right any more.
FREE = re.compile(r'__SCT__preempt_schedule(_notrace)?$|preempt_schedule_irq$'
                  r'|__asan_report_(load|store)(_n|\d+)_noabort$')
# What may be probed, but is called from this one function: it asks for what
# return probes have in store to be made larger, in a hit, which a probe there
# misses; or to be freed, at the end of a call, where a probe there is hit. A
# return probe's own calls ask for that when it was unregistered, and then it is
# hit no more: so it ends. And where a jprobe is hit ftrace is asked who else has
# the place: a probe there is missed. So it is at the end of a jprobe's handler.
FREE_FROM = {'rust_kprobes_ask_to_tend': 'irq_work_queue',
             'rust_kprobes_make_way': 'irq_work_queue',
             'rust_kprobes_has_trampoline': 'ftrace_find_rec_direct'}
PANICS = re.compile(r'4core9panicking|rust_begin_unwind|4core6option13(expect|unwrap)'
                    r'|4core6result13unwrap|4core5slice5index')
# Where the kernel's mitigations do an indirect call or jump, and a return.
THUNK = re.compile(r'__x86_indirect_(call_|jump_)?thunk_')
RETURN_THUNK = re.compile(r'__x86_return_thunk$')
# Executable sections of an object that no probe is hit in or that are never
# run in place.
NOT_HIT = re.compile(r'\.(init|exit|noinstr)\.text$|\.kprobes\.text$|\.altinstr_replacement$'
                     r'|\.text\.asan\.module_[cd]tor(\.\d+)?$|\.discard\.')

SHF_EXECINSTR = 4
SHT_SYMTAB = 2
EM_X86_64 = 62
BRANCH = {EM_X86_64: re.compile(r'(call|jmp|j[a-z]+|loop[a-z]*)[lqw]?$')}
# What objdump may print before it.
PREFIXES = {EM_X86_64: re.compile(r'^((addr32|data16|rex64|repn?e?|lock|notrack|bnd'
                                  r'|[c-gs]s)\s+)+')}
INDIRECT = {EM_X86_64: re.compile(r'\*')}
# A jump through a table indexed by a register stays in its function.
TABLE = {EM_X86_64: re.compile(r'jmp[lqw]?\s+\*.*\(,%\w+,8\)')}


class Elf:
    """The sections and symbols of a 64-bit little-endian ELF file."""

    def __init__(self, name):
        self.name = name
        with open(name, 'rb') as file:
            self.data = file.read()
        if self.data[:6] != b'\x7fELF\x02\x01':
            sys.exit(f'{name}: expected a 64-bit little-endian ELF file')
        self.machine, = struct.unpack_from('<H', self.data, 18)
        offset, = struct.unpack_from('<Q', self.data, 40)
        size, count, names = struct.unpack_from('<HHH', self.data, 58)
        rows = [struct.unpack_from('<IIQQQQIIQQ', self.data, offset + size * number)
                for number in range(count)]
        self.sections = [(self.string(rows[names][4] + row[0]),) + row[1:] for row in rows]

    def string(self, offset):
        """The string at an offset of the file."""
        return self.data[offset:self.data.index(b'\0', offset)].decode()

    def symbols(self):
        """Name, value, size and type of each symbol."""
        for _, kind, _, _, offset, size, link, _, _, entry in self.sections:
            if kind != SHT_SYMTAB:
                continue
            strings = self.sections[link][4]
            for row in range(offset, offset + size, entry):
                name, info, _, _, value, length = struct.unpack_from('<IBBHQQ', self.data, row)
                yield self.string(strings + name), value, length, info & 15

    def words(self, start, end):
        """The 64-bit words between two addresses."""
        for _, kind, _, addr, offset, size, *_ in self.sections:
            if kind == 1 and addr and addr <= start and end <= addr + size:
                offset += start - addr
                return struct.unpack_from(f'<{(end - start) // 8}Q', self.data, offset)
        return ()


class Kernel:
    """A linked kernel: its functions, and where probes cannot be."""

    def __init__(self, name, objdump):
        self.elf = Elf(name)
        self.objdump = objdump
        if self.elf.machine not in BRANCH:
            sys.exit(f'{name}: expected machine {sorted(BRANCH)}, found {self.elf.machine}')
        self.addr = {}
        self.names = {}
        functions = {}
        for symbol, value, size, kind in self.elf.symbols():
            self.addr.setdefault(symbol, value)
            # The thunks are no functions by their type.
            if kind == 2 or THUNK.match(symbol) or RETURN_THUNK.match(symbol):
                functions[value] = max(size, functions.get(value, 0))
                self.names.setdefault(value, symbol)
        self.starts = sorted(functions)
        self.functions = functions
        start, end = (self.addr.get(f'__{edge}_kprobe_blacklist', 0) for edge in ('start', 'stop'))
        self.blacklist = set(self.elf.words(start, end))

    def within(self, addr, section):
        """Is the address between the linker's symbols of a section?"""
        start = self.addr.get(f'__{section}_text_start')
        end = self.addr.get(f'__{section}_text_end')
        return start is not None and end is not None and start <= addr < end

    def function(self, addr):
        """The start of the function around an address."""
        index = bisect.bisect_right(self.starts, addr) - 1
        return self.starts[index] if index >= 0 else None

    def label(self, addr):
        """The name of what is at an address."""
        start = self.function(addr)
        if start is None:
            return hex(addr)
        name = self.names[start]
        return name if start == addr else f'{name}+{addr - start:#x}'

    def protected(self, addr):
        """Can no probe be placed at the address?"""
        return (any(self.within(addr, name) for name in ('kprobes', 'noinstr', 'entry'))
                or self.function(addr) in self.blacklist)

    def branches(self, start):
        """Address, text and target of each branch; None for an indirect one."""
        size = self.functions[start]
        if not size:
            sys.exit(f'{self.label(start)}: expected a function with a size, found none')
        out = subprocess.run(
            [self.objdump, '-d', '--no-show-raw-insn', f'--start-address={start:#x}',
             f'--stop-address={start + size:#x}', self.elf.name],
            check=True, capture_output=True, text=True).stdout
        found = 0
        for line in out.split('\n'):
            match = re.match(r'\s*([0-9a-f]+):\s+(\S.*)', line)
            if not match:
                continue
            found += 1
            at, insn = int(match[1], 16), PREFIXES[self.elf.machine].sub('', match[2], 1)
            mnemonic, operands = re.match(r'(\S*)\s*(.*)', insn).groups()
            if not BRANCH[self.elf.machine].match(mnemonic):
                continue
            text = f'{mnemonic} {operands}'
            if INDIRECT[self.elf.machine].search(operands):
                if not TABLE[self.elf.machine].match(text):
                    yield at, text, None
                continue
            target = re.match(r'0x([0-9a-f]+)', operands)
            if not target:
                sys.exit(f'{self.label(start)}: cannot read the target of: {text}')
            yield at, text, int(target[1], 16)
        if not found:
            sys.exit(f'{self.label(start)}: {self.objdump} shows no instructions')


def walk(kernel, roots, indirect):
    """Follows the calls from the roots; returns what is wrong and what was seen."""
    problems = []
    ways = {}
    todo = []

    def visit(addr, way, where):
        name = kernel.label(addr)
        if FREE.match(name) or way and FREE_FROM.get(way[-1]) == name:
            return
        path = way + [name]
        if PANICS.search(name):
            problems.append((where, 'no way to panic', path))
        elif not kernel.protected(addr):
            problems.append((where, 'a callee that cannot be probed', path))
        start = kernel.function(addr)
        if name in ENDS:
            return
        if start not in ways and kernel.within(addr, 'kprobes'):
            ways[start] = path
            todo.append(start)

    for root in roots:
        visit(kernel.addr[root], [], root)
    while todo:
        start = todo.pop()
        size = kernel.functions[start]
        for at, text, target in kernel.branches(start):
            where = kernel.label(at)
            if target is None or THUNK.match(kernel.label(target)):
                name = kernel.names[start]
                if name not in indirect and not HANDLERS.search(name):
                    problems.append((where, 'a direct call', ways[start] + [text]))
            elif not start <= target < start + size:
                visit(target, ways[start], where)
    return problems, sorted(kernel.names[start] for start in ways)


def check_vmlinux(args):
    """The first form."""
    kernel = Kernel(args.files[0], args.objdump)
    missing = [root for root in args.root if root not in kernel.addr]
    roots = args.root or [root for root in ROOTS if root in kernel.addr]
    if missing or not roots:
        sys.exit(f'{args.files[0]}: expected the symbols {missing or list(ROOTS)}, found none')
    problems, seen = walk(kernel, roots, set(args.indirect))
    for name in seen:
        print(f'on the hit path: {name}')
    for where, expected, path in problems:
        print(f'{where}: expected {expected}, found: {" -> ".join(path)}')
    return 1 if problems else 0


def check_objects(names, ar):
    """The second form."""
    failed = 0
    for name in linked(names, ar):
        for section, _, flags, _, _, size, *_ in Elf(name).sections:
            if flags & SHF_EXECINSTR and size and not NOT_HIT.match(section):
                print(f'{name}: expected code in .kprobes.text only, '
                      f'found: {size} bytes in {section}')
                failed = 1
    return failed


def indirect_in(name, objdump):
    """Each indirect call or jump of an object: the function, and the text."""
    machine = Elf(name).machine
    out = subprocess.run([objdump, '-dr', '--no-show-raw-insn', name],
                         check=True, capture_output=True, text=True).stdout
    label = None
    for line in out.split('\n'):
        if match := re.match(r'[0-9a-f]+ <(.+)>:$', line):
            label = match[1]
        match = re.match(r'\s*[0-9a-f]+:\s+(\S.*)', line)
        if not match or label is None:
            continue
        # An instruction, or the symbol that the one before it is of.
        insn = PREFIXES[machine].sub('', match[1], 1)
        mnemonic, operands = re.match(r'(\S*)\s*(.*)', insn).groups()
        if (BRANCH[machine].match(mnemonic) and INDIRECT[machine].search(operands)
                or THUNK.search(operands)):
            yield label, f'{mnemonic} {operands}'
    if label is None:
        sys.exit(f'{name}: {objdump} shows no functions')


def check_direct(names, objdump):
    """The third form."""
    failed = 0
    for name in names:
        for label, text in indirect_in(name, objdump):
            print(f'{name}: {label}: expected direct calls and jumps only, found: {text}')
            failed = 1
    return failed


def main():
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n', 1)[0])
    parser.add_argument('--root', action='append', default=[], metavar='SYMBOL',
                        help='start here instead')
    parser.add_argument('--indirect', action='append', default=[], metavar='SYMBOL',
                        help='this function may call indirectly (a handler)')
    parser.add_argument('--objdump', default='llvm-objdump')
    parser.add_argument('--ar', default='llvm-ar')
    parser.add_argument('--text-of', action='store_true', help='check objects')
    parser.add_argument('--direct-in', action='store_true',
                        help='check objects for indirect branches')
    parser.add_argument('files', nargs='+')
    args = parser.parse_args()
    if args.text_of:
        return check_objects(args.files, args.ar)
    if args.direct_in:
        return check_direct(args.files, args.objdump)
    if len(args.files) != 1:
        parser.error('one VMLINUX')
    return check_vmlinux(args)


if __name__ == '__main__':
    sys.exit(main())
