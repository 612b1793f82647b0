# SPDX-License-Identifier: GPL-2.0
"""check-hit-path.py finds what it is there for, in small kernels of assembler.

What it reads is made by the tools that make a kernel: clang and lld, for the
sections and symbols that a kernel's linker script has.
"""

import shutil
import subprocess
import unittest

import env
from tests import support

_TOOLS = ('clang', 'ld.lld', 'llvm-ar', 'llvm-objdump')
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


def function(name, *body, section=_KPROBES, kind='@function'):
    """An assembler's function of these instructions."""
    lines = [f'.section {section}, "ax"', f'.globl {name}',
             f'.type {name}, {kind}', f'{name}:', *body, 'ret',
             f'.size {name}, . - {name}']
    return '\n'.join(lines) + '\n'


def entry(*body):
    """The one entry of the hit path."""
    return function('get_kprobe', *body)


@unittest.skipIf(env.HOST_TOOLS and not all(map(shutil.which, _TOOLS)),
                 'no LLVM on this machine')
class Case(support.Case):
    """Something that clang makes an object of, and the script's words on it."""

    def build(self, *functions, name='a.o'):
        source = self.write(f'{name}.S', ''.join(functions))
        built = source.with_suffix('')
        subprocess.run(['clang', '--target=x86_64-linux-gnu', '-c', source,
                        '-o', built], check=True)
        return built

    def run_script(self, *words):
        done = subprocess.run(
            ['python3', '-B', env.KPROBES / 'check-hit-path.py', *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False)
        self.assertNotIn('Traceback', done.stdout)
        return done.returncode, done.stdout.splitlines()


class Walk(Case):
    """The calls of a linked kernel, from the entry on."""

    def judge(self, *functions, words=()):
        kernel = self.tmp / 'vmlinux'
        subprocess.run(
            ['ld.lld', '-T', self.write('vmlinux.lds', _SCRIPT), '-e', '0',
             self.build(*functions), '-o', kernel], check=True)
        return self.run_script(*words, kernel)

    def passes(self, *functions, words=()):
        status, lines = self.judge(*functions, words=words)
        self.assertEqual([line for line in lines
                          if not line.startswith('on the hit path: ')], [])
        self.assertEqual(status, 0)
        return [line.removeprefix('on the hit path: ') for line in lines]

    def fails(self, expected, *functions, words=()):
        status, lines = self.judge(*functions, words=words)
        self.assertEqual(status, 1)
        self.assertEqual([line for line in lines
                          if not line.startswith('on the hit path: ')],
                         expected)

    def test_what_is_called_is_followed(self):
        seen = self.passes(entry('call helper', 'jmp last'),
                           function('helper', 'je 1f', '1: call entry_code'),
                           function('last', 'call raw', 'call listed'),
                           function('stranger', 'call elsewhere'),
                           function('entry_code', 'call elsewhere',
                                    section='.entry.text'),
                           function('raw', 'call elsewhere',
                                    section='.noinstr.text'),
                           function('listed', 'call elsewhere',
                                    section=_TEXT),
                           function('elsewhere', section=_TEXT),
                           '.section _kprobe_blacklist, "a"\n.quad listed\n')
        self.assertEqual(seen, ['get_kprobe', 'helper', 'last'])

    def test_a_callee_that_can_be_probed(self):
        for branch, at in (('call', ''), ('jmp', ''), ('nop; jne', '+0x1')):
            self.fails([f'get_kprobe{at}: expected a callee that cannot be '
                        'probed, found: get_kprobe -> vfs_read'],
                       entry(f'{branch} vfs_read'),
                       function('vfs_read', section=_TEXT))

    def test_a_request_leaves_the_hit_path(self):
        asks = 'rust_kprobes_ask_to_tend'
        queue = function('irq_work_queue', section=_TEXT)
        self.passes(entry(f'call {asks}'),
                    function(asks, 'call irq_work_queue'), queue)
        self.fails(['get_kprobe: expected a callee that cannot be probed, '
                    'found: get_kprobe -> irq_work_queue'],
                   entry('call irq_work_queue'), queue)
        self.fails([f'{asks}: expected a callee that cannot be probed, '
                    f'found: get_kprobe -> {asks} -> vfs_read'],
                   entry(f'call {asks}'), function(asks, 'call vfs_read'),
                   function('vfs_read', section=_TEXT))

    def test_a_callee_of_a_callee(self):
        self.fails(['helper+0x1: expected a callee that cannot be probed, '
                    'found: get_kprobe -> helper -> vfs_read'],
                   entry('call helper'),
                   function('helper', 'nop', 'call vfs_read'),
                   function('vfs_read', section=_TEXT))

    def test_the_middle_of_a_function_that_can_be_probed(self):
        self.fails(['get_kprobe: expected a callee that cannot be probed, '
                    'found: get_kprobe -> vfs_read+0x1'],
                   entry('call vfs_read + 1'),
                   function('vfs_read', 'nop', section=_TEXT))

    def test_a_call_with_a_prefix(self):
        for prefix in '0x2e', '0x67', '0x66', '0xf2':
            self.fails(['get_kprobe: expected a callee that cannot be probed, '
                        'found: get_kprobe -> vfs_read'],
                       entry(f'.byte {prefix}', 'call vfs_read'),
                       function('vfs_read', section=_TEXT))

    def test_an_entry_that_can_be_probed(self):
        self.fails(['get_kprobe: expected a callee that cannot be probed, '
                    'found: get_kprobe'],
                   function('get_kprobe', section=_TEXT))

    def test_a_panic(self):
        # Wherever it stands.
        for section in _KPROBES, _TEXT:
            self.fails([f'helper: expected no way to panic, found: '
                        f'get_kprobe -> helper -> {_PANIC}'],
                       entry('call helper'), function('helper', f'ja {_PANIC}'),
                       function(_PANIC, section=section))

    def test_each_kind_of_panic(self):
        for name in ('rust_begin_unwind', '_RNv4core6option13unwrap_failed',
                     '_RNv4core6option13expect_failed',
                     '_RNv4core6result13unwrap_failed',
                     '_RNv4core5slice5index16slice_index_fail'):
            self.fails(['get_kprobe: expected no way to panic, found: '
                        f'get_kprobe -> {name}'],
                       entry(f'call {name}'), function(name))

    def test_an_indirect_call(self):
        for branch, shown in (('call *%rax', 'callq *%rax'),
                              ('jmp *8(%rdi)', 'jmpq *0x8(%rdi)'),
                              ('notrack jmp *%rax', 'jmpq *%rax')):
            self.fails(['get_kprobe: expected a direct call, found: '
                        f'get_kprobe -> {shown}'], entry(branch))

    def test_an_indirect_call_through_a_thunk(self):
        thunk = '__x86_indirect_thunk_rax'
        at = 'ffffffff81000000'
        self.fails(['helper: expected a direct call, found: get_kprobe -> '
                    f'helper -> callq 0x{at} <{thunk}>'],
                   function(thunk, section=_TEXT, kind='@notype'),
                   entry('call helper'), function('helper', f'call {thunk}'))

    def test_what_calls_handlers_may_call_indirectly(self):
        handlers = 'kprobe_int3_handler', '_RNv12rust_kprobes4life3hit4call'
        for name in handlers:
            self.passes(entry(f'call {name}'), function(name, 'call *%rax'))
        self.passes(entry('call *%rax'), words=['--indirect', 'get_kprobe'])

    def test_a_jump_table_is_no_indirect_call(self):
        self.passes(entry('jmp *0(,%rax,8)'))

    def test_what_is_behind_a_hopeless_hit_is_not_followed(self):
        self.passes(entry('call rust_kprobes_hopeless'),
                    function('rust_kprobes_hopeless', 'call vfs_read'),
                    function('vfs_read', section=_TEXT))

    def test_entries_of_ones_own(self):
        others = [function('other', 'call vfs_read'), entry('call *%rax'),
                  function('vfs_read', section=_TEXT)]
        self.fails(['other: expected a callee that cannot be probed, found: '
                    'other -> vfs_read'], *others, words=['--root', 'other'])

    def test_a_kernel_without_entries(self):
        for words in [], ['--root', 'get_kprobe']:
            status, lines = self.judge(function('other'), words=words)
            self.assertNotIn(status, (0, None))
            self.assertIn('expected the symbols', lines[-1])
            self.assertIn("'get_kprobe'", lines[-1])

    def test_a_function_that_is_not_shown(self):
        self.assertEqual(self.judge(entry(), words=['--objdump', 'true']),
                         (1, ['get_kprobe: true shows no instructions']))

    def test_a_function_whose_end_nobody_knows(self):
        endless = '.type endless, @function\nendless: call vfs_read\n'
        self.assertEqual(
            self.judge(entry('call endless'), endless,
                       function('vfs_read', section=_TEXT)),
            (1, ['endless: expected a function with a size, found none']))


class Text(Case):
    """The sections of objects."""

    def test_code_in_its_section(self):
        # What is not run in a hit may be elsewhere, too.
        allowed = ('.init.text', '.exit.text', '.noinstr.text',
                   '.altinstr_replacement', '.text.asan.module_ctor',
                   '.text.asan.module_dtor.7', '.discard.text')
        built = self.build(function('hit'), *(
            function(f'f{number}', section=section)
            for number, section in enumerate(allowed)))
        self.assertEqual(self.run_script('--text-of', built), (0, []))

    def test_code_outside(self):
        for section in '.text', '.text.unlikely.', '.ref.text':
            built = self.build(function('hit'),
                               function('stray', section=section))
            self.assertEqual(self.run_script('--text-of', built), (1, [
                f'{built}: expected code in .kprobes.text only, '
                f'found: 1 bytes in {section}']))

    def test_objects_of_a_folder(self):
        right = self.build(function('hit'), name='right.o')
        stray = self.build(function('stray', section=_TEXT), name='stray.o')
        # It is there, but not in the kernel.
        self.build(function('unused', section=_TEXT), name='unused.o')
        subprocess.run(['llvm-ar', 'rcST', self.tmp / 'built-in.a', right,
                        stray], check=True)
        self.assertEqual(self.run_script('--text-of', self.tmp), (1, [
            f'{stray}: expected code in .kprobes.text only, '
            'found: 1 bytes in .text']))


class Direct(Case):
    """The calls and jumps of objects."""

    def test_direct_branches(self):
        built = self.build(function('enter', 'jmp 1f', '1: call other',
                                    'jnz 1b', 'jmp __x86_return_thunk',
                                    'mov 8(%rax), %rax'),
                           function('other', section=_TEXT))
        self.assertEqual(self.run_script('--direct-in', built), (0, []))

    def test_indirect_branches(self):
        for branch, shown in (
                ('call *%rax', 'callq *%rax'),
                ('jmp *8(%rdi)', 'jmpq *0x8(%rdi)'),
                ('jmp *0(,%rax,8)', 'jmpq *(,%rax,8)'),
                ('notrack jmp *%rax', 'jmpq *%rax'),
                ('call __x86_indirect_thunk_rax',
                 'R_X86_64_PLT32 __x86_indirect_thunk_rax-0x4'),
                ('jmp __x86_indirect_jump_thunk_r10',
                 'R_X86_64_PLT32 __x86_indirect_jump_thunk_r10-0x4')):
            # Whichever section it is in.
            for section in _KPROBES, _TEXT:
                built = self.build(
                    function('direct', 'call enter'),
                    function('enter', 'nop', branch, section=section))
                self.assertEqual(self.run_script('--direct-in', built), (1, [
                    f'{built}: enter: expected direct calls and jumps only, '
                    f'found: {shown}']))

    def test_an_object_that_is_not_shown(self):
        built = self.build(function('enter'))
        self.assertEqual(
            self.run_script('--direct-in', '--objdump', 'true', built),
            (1, [f'{built}: true shows no functions']))
