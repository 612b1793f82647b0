# SPDX-License-Identifier: GPL-2.0
"""check-hit-path.py finds what it is there for, in small kernels of assembler.

What it reads is made by the tools that make a kernel: clang and lld, for the
sections and symbols that a kernel's linker script has.
"""

import shutil
import subprocess
import unittest
from pathlib import Path

import env
from tests import support

_TOOLS = ('clang', 'ld.lld', 'llvm-ar', 'llvm-objdump', 'llvm-readelf')
_SCRIPT = '''\
SECTIONS {
    . = 0xffffffff81000000;
    .text : {
        *(.text)
        __kprobes_text_start = .; *(.kprobes.text) __kprobes_text_end = .;
        __noinstr_text_start = .; *(.noinstr.text) __noinstr_text_end = .;
        __entry_text_start = .; *(.entry.text) __entry_text_end = .;
    }
    .init.data : {
        __start_kprobe_blacklist = .;
        *(_kprobe_blacklist)
        __stop_kprobe_blacklist = .;
    }
}
'''
_KPROBES, _TEXT = '.kprobes.text', '.text'
# Of Rust's core: what it is called where an index is out of bounds.
_PANIC = '_RNvNtCs1234_4core9panicking18panic_bounds_check'


def function(name: str, *body: str, section: str = _KPROBES,
             kind: str = '%function') -> str:
    """An assembler's function of these instructions."""
    lines = [f'.section {section}, "ax"', f'.globl {name}',
             f'.type {name}, {kind}', f'{name}:', *body, 'ret',
             f'.size {name}, . - {name}']
    return '\n'.join(lines) + '\n'


def entry(*body: str) -> str:
    """The one entry of the hit path."""
    return function('get_kprobe', *body)


_PROBED = function('vfs_read', 'nop', section=_TEXT)


def callee(path: str, at: str = 'get_kprobe') -> str:
    """The complaint about a callee that can be probed."""
    return f'{at}: expected a callee that cannot be probed, found: {path}'


@unittest.skipIf(env.HOST_TOOLS and not all(map(shutil.which, _TOOLS)),
                 'no LLVM on this machine')
class Case(support.Case):
    """Something that clang makes an object of, and the script's words on it."""

    def build(self, *functions: str, name: str = 'a.o',
              target: str = 'x86_64-linux-gnu') -> Path:
        source = self.write(f'{name}.S', ''.join(functions))
        built = source.with_suffix('')
        subprocess.run(['clang', f'--target={target}', '-c', source,
                        '-o', built], check=True)
        return built

    def run_script(self, *words) -> tuple[int, list[str]]:
        done = subprocess.run(
            ['python3', '-B', env.KPROBES / 'check-hit-path.py', *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False)
        self.assertNotIn('Traceback', done.stdout)
        return done.returncode, done.stdout.splitlines()


class Walk(Case):
    """The calls of a linked kernel, from the entry on."""

    def judge(self, *functions: str, words: tuple[str, ...] = ()
              ) -> tuple[int, list[str]]:
        kernel = self.tmp / 'vmlinux'
        subprocess.run(
            ['ld.lld', '-T', self.write('vmlinux.lds', _SCRIPT), '-e', '0',
             self.build(*functions), '-o', kernel], check=True)
        return self.run_script(*words, kernel)

    def says(self, complaints: list[str], *functions: str) -> list[str]:
        """The script complains so; returns what it has seen."""
        status, lines = self.judge(*functions)
        seen = [line.removeprefix('on the hit path: ') for line in lines
                if line.startswith('on the hit path: ')]
        self.assertEqual((status, lines[len(seen):]),
                         (1 if complaints else 0, complaints))
        return seen

    def each_says(self, cases: list[tuple[str, str]], *others: str) -> None:
        """Each branch of CASES, in a function of its own, is complained of."""
        names = [f'f{number}' for number in range(len(cases))]
        status, lines = self.judge(
            *others, entry(*(f'call {name}' for name in names)),
            *(function(name, branch)
              for name, (branch, _) in zip(names, cases)))
        self.assertEqual((status, sorted(line for line in lines
                                         if ': expected' in line)),
                         (1, [complaint for _, complaint in cases]))

    def test_what_is_called_is_followed(self) -> None:
        seen = self.says([], entry('call helper', 'jmp last'),
                         function('helper', 'je 1f', '1: call entry_code'),
                         function('last', 'call raw', 'call listed'),
                         function('stranger', 'call elsewhere'),
                         function('entry_code', 'call elsewhere',
                                  section='.entry.text'),
                         function('raw', 'call elsewhere',
                                  section='.noinstr.text'),
                         function('listed', 'call elsewhere', section=_TEXT),
                         function('elsewhere', section=_TEXT),
                         '.section _kprobe_blacklist, "a"\n.quad listed\n')
        self.assertEqual(seen, ['get_kprobe', 'helper', 'last'])

    def test_callees_that_can_be_probed(self) -> None:
        cases = (('call vfs_read', '', ''), ('jmp vfs_read', '', ''),
                 ('nop; jne vfs_read', '+0x1', ''),
                 ('call vfs_read + 1', '', '+0x1'),
                 *((f'.byte {prefix}; call vfs_read', '', '')
                   for prefix in ('0x2e', '0x67', '0x66', '0xf2')))
        self.each_says([
            (branch, f'f{number}{at}: expected a callee that cannot be '
             f'probed, found: get_kprobe -> f{number} -> vfs_read{behind}')
            for number, (branch, at, behind) in enumerate(cases)], _PROBED)
        self.says([callee('get_kprobe')],
                  function('get_kprobe', section=_TEXT))

    def test_a_request_leaves_the_hit_path(self) -> None:
        asks = 'rust_kprobes_ask_to_tend'
        queue = function('irq_work_queue', section=_TEXT)
        self.says([], entry(f'call {asks}'),
                  function(asks, 'call irq_work_queue'), queue)
        self.says([callee('get_kprobe -> irq_work_queue')],
                  entry('call irq_work_queue'), queue)
        self.says([callee(f'get_kprobe -> {asks} -> vfs_read', asks)],
                  entry(f'call {asks}'), function(asks, 'call vfs_read'),
                  _PROBED)

    def test_panics(self) -> None:
        # Wherever they stand.
        names = ('rust_begin_unwind', '_RNv4core6option13unwrap_failed',
                 '_RNv4core6option13expect_failed',
                 '_RNv4core6result13unwrap_failed',
                 '_RNv4core5slice5index16slice_index_fail', _PANIC)
        self.each_says([
            (f'ja {name}', f'f{number}: expected no way to panic, found: '
             f'get_kprobe -> f{number} -> {name}')
            for number, name in enumerate(names)],
            *map(function, names[:-1]), function(_PANIC, section=_TEXT))

    def test_indirect_calls(self) -> None:
        thunk = '__x86_indirect_thunk_rax'
        self.each_says([
            (branch, f'f{number}: expected a direct call, found: '
             f'get_kprobe -> f{number} -> {shown}')
            for number, (branch, shown) in enumerate((
                ('call *%rax', 'callq *%rax'),
                ('jmp *8(%rdi)', 'jmpq *0x8(%rdi)'),
                ('notrack jmp *%rax', 'jmpq *%rax'),
                (f'call {thunk}',
                 f'callq 0xffffffff81000000 <{thunk}>')))],
            function(thunk, section=_TEXT, kind='@notype'))

    def test_indirect_calls_that_are_right(self) -> None:
        handlers = 'kprobe_int3_handler', '_RNv12rust_kprobes4life3hit4call'
        self.says([], entry('call table', *(
            f'call {name}' for name in handlers)),
            function('table', 'jmp *0(,%rax,8)'),
            *(function(name, 'call *%rax') for name in handlers))

    def test_what_is_behind_a_hopeless_hit_is_not_followed(self) -> None:
        self.says([], entry('call rust_kprobes_hopeless'),
                  function('rust_kprobes_hopeless', 'call vfs_read'), _PROBED)

    def test_a_kernel_without_entries(self) -> None:
        status, lines = self.judge(function('other'))
        self.assertEqual(status, 1)
        self.assertIn('expected the symbols', lines[-1])
        self.assertIn("'get_kprobe'", lines[-1])

    def test_what_cannot_be_read(self) -> None:
        for function_, words, complaint in (
                (entry(), ('--objdump', 'true'),
                 f'{self.tmp}/vmlinux: true shows no functions'),
                ('.type get_kprobe, @function\nget_kprobe: ret\n', (),
                 'get_kprobe: expected a function with a size, found none')):
            function_ = f'.section {_KPROBES}, "ax"\n{function_}'
            self.assertEqual(self.judge(function_, words=words),
                             (1, [complaint]))


class Objects(Case):
    """The sections of objects, and their calls and jumps."""

    def test_code_in_its_section(self) -> None:
        # What is not run in a hit may be elsewhere, too.
        allowed = ('.init.text', '.exit.text', '.noinstr.text',
                   '.altinstr_replacement', '.text.asan.module_ctor',
                   '.text.asan.module_dtor.7', '.discard.text')
        built = self.build(function('hit'), *(
            function(f'f{number}', section=section)
            for number, section in enumerate(allowed)))
        self.assertEqual(self.run_script('--text-of', built), (0, []))

    def test_code_outside(self) -> None:
        for sections, target, ret in (
                (('.text', '.text.unlikely.', '.ref.text'),
                 'x86_64-linux-gnu', 'ret'),
                (('.ref.text',), 'armeb-linux-gnueabi', 'bx lr')):
            code = function('hit') + ''.join(
                function(f'stray{number}', section=section)
                for number, section in enumerate(sections))
            built = self.build(code.replace('\nret\n', f'\n{ret}\n'),
                               target=target)
            status, lines = self.run_script('--text-of', built)
            self.assertEqual((status, sorted(lines)), (1, sorted(
                f'{built}: expected code in .kprobes.text only, '
                f'found: {1 if ret == "ret" else 4} bytes in {section}'
                for section in sections)))

    def test_objects_of_a_folder(self) -> None:
        right = self.build(function('hit'), name='right.o')
        stray = self.build(function('stray', section=_TEXT), name='stray.o')
        # It is there, but not in the kernel.
        self.build(function('unused', section=_TEXT), name='unused.o')
        subprocess.run(['llvm-ar', 'rcST', self.tmp / 'built-in.a', right,
                        stray], check=True)
        self.assertEqual(self.run_script('--text-of', self.tmp), (1, [
            f'{stray}: expected code in .kprobes.text only, '
            'found: 1 bytes in .text']))

    def test_direct_branches(self) -> None:
        built = self.build(function('enter', 'jmp 1f', '1: call other',
                                    'jnz 1b', 'jmp __x86_return_thunk',
                                    'mov 8(%rax), %rax'),
                           function('other', section=_TEXT))
        self.assertEqual(self.run_script('--direct-in', built), (0, []))

    def test_indirect_branches(self) -> None:
        branches = (
            ('call *%rax', 'callq *%rax'),
            ('jmp *8(%rdi)', 'jmpq *0x8(%rdi)'),
            ('jmp *0(,%rax,8)', 'jmpq *(,%rax,8)'),
            ('notrack jmp *%rax', 'jmpq *%rax'),
            ('call __x86_indirect_thunk_rax',
             'R_X86_64_PLT32 __x86_indirect_thunk_rax-0x4'),
            ('jmp __x86_indirect_jump_thunk_r10',
             'R_X86_64_PLT32 __x86_indirect_jump_thunk_r10-0x4'))
        # Whichever section it is in.
        for section in _KPROBES, _TEXT:
            built = self.build(function('direct', 'call f0'), *(
                function(f'f{number}', 'nop', branch, section=section)
                for number, (branch, _) in enumerate(branches)))
            self.assertEqual(self.run_script('--direct-in', built), (1, [
                f'{built}: f{number}: expected direct calls and jumps only, '
                f'found: {shown}'
                for number, (_, shown) in enumerate(branches)]))

    def test_an_object_that_is_not_shown(self) -> None:
        built = self.build(function('enter'))
        self.assertEqual(
            self.run_script('--direct-in', '--objdump', 'true', built),
            (1, [f'{built}: true shows no functions']))
