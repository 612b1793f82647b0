#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Checks that what a probe's hit runs through cannot itself be probed or panic.

    check-hit-path.py VMLINUX
    check-hit-path.py --text-of OBJECT|FOLDER...

The first form disassembles a linked kernel and follows direct calls and jumps
from the entries of the hit path. It fails on a callee that a probe could be
placed on: one that is in none of .kprobes.text, the noinstr section, the entry
code and the list of NOKPROBE_SYMBOL(); on a function that calls ftrace; on a
way into Rust's panics; and on an indirect call or jump in a function that calls
no handlers. Callees in .kprobes.text are followed further; the rest is the
kernel's own care.

The second form fails on code outside .kprobes.text in objects, or in those that
a built folder puts into the kernel (initcalls, KASAN's constructors,
patched-in alternatives and debugfs.o, whose files no hit reads, excepted).
"""
import bisect
import functools
import re
import sys
from collections.abc import Iterator

from objects import Elf, disassembled, linked

# The entries that other code calls; those that the kernel does not have are
# left out, but at least one is there.
ROOTS = ('kprobe_fault_handler', 'kprobe_ftrace_handler', 'kprobe_leave_copy',
         'kprobe_original_ip', 'kprobe_original_code', '__is_insn_slot_addr',
         'kprobe_busy_begin', 'kprobe_busy_end', 'get_kprobe',
         'kprobes_inc_nmissed_count', 'opt_pre_handler',
         'rust_kprobes_ftrace_hit', 'rust_kprobes_ftrace_ipmodify_hit',
         'rust_kprobes_detour_hit', 'rust_kprobes_resched',
         'kprobe_original_frame', 'rust_kprobes_function_entered',
         'arch_rethook_trampoline', 'rust_kprobes_returned',
         'rethook_find_ret_addr', 'rust_kprobes_jprobe_hit')
# Functions that call clients' handlers, which alone are not known here:
# entries that the crate's inlined functions end up in, and its files of hits.
HANDLERS = re.compile(r'(kprobe_fault_handler'
                      r'|rust_kprobes_ftrace_(hit|ipmodify_hit)'
                      r'|rust_kprobes_detour_hit'
                      r'|rust_kprobes_(function_entered|returned))$'
                      r'|3hit(10breakpoint|5fault|6ftrace|4jump)|7returns3hit|3abi6ftrace6handle')
# Functions in which the kernel dies because the hit path was hit, or because a
# function has returned to nowhere: the code after them matters no more. And two
# that warn once, on arm by a call: of a handler that slept, of a lost frame.
ENDS = ('rust_kprobes_unrecoverable', 'rust_kprobes_no_return_address', 'handler_slept',
        'rust_kprobes_frame_mismatch')
# No probe can be on the static calls that stand for preempt_schedule(). The way
# to the scheduler at the end of a detour may be probed: interrupts are off.
# KASAN's reports are for when nothing is right any more.
FREE = re.compile(r'__SCT__preempt_schedule(_notrace)?$|preempt_schedule_irq$'
                  r'|__asan_report_(load|store)(_n|\d+)_noabort$')
# Functions that may be probed, but are called from this one: it asks for what
# return probes have in store to be made larger, in a hit, which a probe there
# misses; or to be freed, at the end of a call, where a probe there is hit. A
# return probe's own calls ask for that when it was unregistered, and then it is
# hit no more: so it ends. And where a jprobe is hit ftrace is asked who else has
# the place: a probe there is missed. So it is at the end of a jprobe's handler.
# An unwinder turns preemption on again: in a hit it stays off.
FREE_FROM = {'rust_kprobes_preempt_enable': 'preempt_schedule_notrace',
             'rust_kprobes_queue_service': 'irq_work_queue',
             'rust_kprobes_resched_soon': 'irq_work_queue',
             'rust_kprobes_has_trampoline': 'ftrace_find_rec_direct'}
PANICS = re.compile(r'4core9panicking|rust_begin_unwind|4core6option13(expect|unwrap)'
                    r'|4core6result13unwrap|4core5slice5index')
# Executable sections of an object that no probe is hit in or that are never
# run in place; and fixups, which run while a hit is handled: a probe misses that.
NOT_HIT = re.compile(r'\.(init|exit|noinstr|kprobes)\.text$|\.text\.fixup$|\.altinstr_replacement$'
                     r'|\.text\.asan\.module_[cd]tor(\.\d+)?$|\.discard\.')


class Kernel:
    """A linked kernel: its functions, and where probes cannot be."""

    def __init__(self, name: str) -> None:
        elf = Elf(name)
        if not elf.arch.hit_path:
            sys.exit(f'{name}: expected hit_path in the record of {elf.arch.name}, found none')
        self.words = elf.arch.hit_path
        self.addr: dict[str, int] = {}
        self.names: dict[int, str] = {}
        self.sizes: dict[int, int] = {}
        for symbol, value, size, kind in elf.symbols():
            self.addr.setdefault(symbol, value)
            # In assembly some are no functions by their type.
            if kind == 'FUNC' or kind == 'NOTYPE' and size \
                    or self.words.thunk.match(symbol) \
                    or self.words.return_thunk.match(symbol):
                self.sizes[value] = max(size, self.sizes.get(value, 0))
                self.names.setdefault(value, symbol)
        self.starts = sorted(self.sizes)
        self.blacklist, self.traced = (
            set(map(self.function, elf.words(*(self.addr.get(f'__{edge}_{table}', 0)
                                               for edge in ('start', 'stop')))))
            for table in ('kprobe_blacklist', 'mcount_loc'))
        self.name = name

    @functools.cached_property
    def text(self) -> dict[int | None, list[tuple[int, str]]]:
        """Address and text of each instruction, by the start of its function."""
        first, last = (self.addr.get(f'__kprobes_text_{edge}', 0) for edge in ('start', 'end'))
        text: dict[int | None, list[tuple[int, str]]] = {}
        for _, at, insn in disassembled(self.name, f'--start-address={first:#x}',
                                        f'--stop-address={last:#x}'):
            text.setdefault(self.function(at), []).append((at, insn))
        return text

    def within(self, addr: int, section: str) -> bool:
        """Is the address between the linker's symbols of a section?"""
        start = self.addr.get(f'__{section}_text_start')
        end = self.addr.get(f'__{section}_text_end')
        return start is not None and end is not None and start <= addr < end

    def function(self, addr: int) -> int | None:
        """The start of the function around an address."""
        index = bisect.bisect_right(self.starts, addr) - 1
        return self.starts[index] if index >= 0 else None

    def label(self, addr: int) -> str:
        """The name of what is at an address."""
        start = self.function(addr)
        if start is None:
            return hex(addr)
        name = self.names[start]
        return name if start == addr else f'{name}+{addr - start:#x}'

    def protected(self, addr: int) -> bool:
        """Can no probe be placed at the address?"""
        return (any(self.within(addr, name) for name in ('kprobes', 'noinstr', 'entry'))
                or self.function(addr) in self.blacklist)

    def branches(self, start: int) -> Iterator[tuple[int, str, int | None]]:
        """Address, text and target of each branch; None for an indirect one."""
        size = self.sizes[start]
        if not size:
            sys.exit(f'{self.label(start)}: expected a function with a size, found none')
        insns = [(at, text) for at, text in self.text.get(start, ()) if at < start + size]
        if not insns:
            sys.exit(f'{self.label(start)}: expected instructions, found none')
        for at, text in insns:
            mnemonic, _, operands = self.words.prefixes.sub('', text, 1).partition('\t')
            operands = operands.strip()
            text = f'{mnemonic.strip()} {operands}'
            if not self.words.branch.match(text):
                continue
            if self.words.indirect.search(operands):
                if not self.words.table.match(text):
                    yield at, text, None
                continue
            # A comparison has its operands before the target.
            target = re.search(r'(?:^|, )0x([0-9a-f]+)( <.*)?$', operands)
            if not target:
                sys.exit(f'{self.label(start)}: cannot read the target of: {text}')
            yield at, text, int(target[1], 16)


def walk(kernel: Kernel, roots: list[str]) -> tuple[list[tuple[str, str, list[str]]], list[str]]:
    """Follows the calls from the roots; returns what is wrong and what was seen."""
    problems = []
    paths: dict[int | None, list[str]] = {}
    todo = []

    def visit(addr: int, path: list[str], where: str) -> None:
        name = kernel.label(addr)
        if FREE.match(name) or path and FREE_FROM.get(path[-1]) == name:
            return
        path = path + [name]
        if PANICS.search(name):
            problems.append((where, 'no way to panic', path))
        elif not kernel.protected(addr):
            problems.append((where, 'a callee that cannot be probed', path))
        start = kernel.function(addr)
        if start in kernel.traced:
            problems.append((where, 'a callee that does not call ftrace', path))
        if name not in ENDS and start not in paths and kernel.within(addr, 'kprobes'):
            paths[start] = path
            todo.append(start)

    for root in roots:
        visit(kernel.addr[root], [], root)
    while todo:
        start = todo.pop()
        name = kernel.names[start]
        for at, text, target in kernel.branches(start):
            where = kernel.label(at)
            if target is None or kernel.words.thunk.match(kernel.label(target)):
                if not HANDLERS.search(name) and not kernel.words.handlers.search(name):
                    problems.append((where, 'a direct call', paths[start] + [text]))
            elif not start <= target < start + kernel.sizes[start]:
                visit(target, paths[start], where)
    return problems, sorted(kernel.names[start] for start in paths)


def check_vmlinux(name: str) -> int:
    """The first form."""
    kernel = Kernel(name)
    entries = (*kernel.words.entries, *ROOTS)
    roots = [root for root in entries if root in kernel.addr]
    if not roots:
        sys.exit(f'{name}: expected the symbols {list(entries)}, found none')
    problems, seen = walk(kernel, roots)
    for name in seen:
        print(f'on the hit path: {name}')
    for where, expected, path in problems:
        print(f'{where}: expected {expected}, found: {" -> ".join(path)}')
    return 1 if problems else 0


def check_objects(names: list[str]) -> int:
    """The second form."""
    failed = 0
    for name in linked(names):
        if name.name == 'debugfs.o':
            continue
        for section, _, _, _, size, flags in Elf(name).sections():
            if 'X' in flags and size and not NOT_HIT.match(section):
                print(f'{name}: expected code in .kprobes.text only, '
                      f'found: {size} bytes in {section}')
                failed = 1
    return failed


def main() -> int:
    """Returns the exit status."""
    form, *names = sys.argv[1:]
    return check_objects(names) if form == '--text-of' else check_vmlinux(form)


if __name__ == '__main__':
    sys.exit(main())
