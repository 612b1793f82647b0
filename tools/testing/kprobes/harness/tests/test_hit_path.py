# SPDX-License-Identifier: GPL-2.0
"""check-hit-path.py finds what it is there for, in small kernels of assembler.

What it reads is made by the tools that make a kernel: clang and lld, for the
sections and symbols that a kernel's linker script has.
"""

import subprocess
from pathlib import Path

import env
from tests import support

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
        __start_mcount_loc = .; *(__mcount_loc) __stop_mcount_loc = .;
    }
}
'''
_KPROBES, _TEXT = '.kprobes.text', '.text'
# Of Rust's core: what it is called where an index is out of bounds.
_PANIC = '_RNvNtCs1234_4core9panicking18panic_bounds_check'


def function(name: str, *body: str, section: str = _KPROBES, kind: str = '%function') -> str:
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


class Case(support.Case):
    """Something that clang makes an object of, and the script's words on it."""

    def build(self, *functions: str, name: str = 'a.o', target: str = 'x86_64-linux-gnu') -> Path:
        source = self.write(f'{name}.S', ''.join(functions))
        built = source.with_suffix('')
        subprocess.run(['clang', f'--target={target}', '-c', source, '-o', built], check=True)
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

    def judge(self, *functions: str) -> tuple[int, list[str]]:
        kernel = self.tmp / 'vmlinux'
        subprocess.run(
            ['ld.lld', '-T', self.write('vmlinux.lds', _SCRIPT), '-e', '0',
             self.build(*functions), '-o', kernel], check=True)
        return self.run_script(kernel)

    def says(self, complaints: list[str], *functions: str) -> list[str]:
        """The script complains so; returns what it has seen."""
        status, lines = self.judge(*functions)
        seen = [line.removeprefix('on the hit path: ') for line in lines
                if line.startswith('on the hit path: ')]
        self.assertEqual((status, lines[len(seen):]), (1 if complaints else 0, complaints))
        return seen

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

    def test_a_function_that_calls_ftrace(self) -> None:
        self.says(['get_kprobe: expected a callee that does not call ftrace, found: '
                   'get_kprobe -> helper'],
                  entry('call helper'), function('helper', 'nop'),
                  '.section __mcount_loc, "a"\n.quad helper + 1\n')

    def test_each_branch_that_is_wrong(self) -> None:
        thunk = '__x86_indirect_thunk_rax'
        panics = ('rust_begin_unwind', '_RNv4core6option13unwrap_failed',
                  '_RNv4core6option13expect_failed',
                  '_RNv4core6result13unwrap_failed',
                  '_RNv4core5slice5index16slice_index_fail', _PANIC)
        probed, direct = 'a callee that cannot be probed', 'a direct call'
        # (the instruction, where it is, what is expected, what is found)
        cases = (
            ('call vfs_read', '', probed, 'vfs_read'),
            ('jmp vfs_read', '', probed, 'vfs_read'),
            ('nop; jne vfs_read', '+0x1', probed, 'vfs_read'),
            ('call vfs_read + 1', '', probed, 'vfs_read+0x1'),
            *((f'.byte {prefix}; call vfs_read', '', probed, 'vfs_read')
              for prefix in ('0x2e', '0x67', '0x66', '0xf2')),
            *((f'ja {name}', '', 'no way to panic', name) for name in panics),
            ('call *%rax', '', direct, 'callq *%rax'),
            ('jmp *8(%rdi)', '', direct, 'jmpq *0x8(%rdi)'),
            ('notrack jmp *%rax', '', direct, 'jmpq *%rax'),
            (f'call {thunk}', '', direct,
             f'callq 0xffffffff81000001 <{thunk}>'))
        names = [f'f{number}' for number in range(len(cases))]
        status, lines = self.judge(
            function(_PANIC, section=_TEXT),
            function(thunk, section=_TEXT, kind='@notype'), _PROBED,
            *map(function, panics[:-1]),
            entry(*(f'call {name}' for name in names)),
            *(function(name, case[0]) for name, case in zip(names, cases)))
        self.assertEqual(status, 1)
        self.assertEqual(
            {line for line in lines if ': expected' in line},
            {f'{name}{at}: expected {expected}, found: '
             f'get_kprobe -> {name} -> {shown}'
             for name, (_, at, expected, shown) in zip(names, cases)})

    def test_what_leaves_the_hit_path_and_where_it_begins(self) -> None:
        asks = 'rust_kprobes_queue_service'
        queue = function('irq_work_queue', section=_TEXT)
        handlers = 'kprobe_int3_handler', '_RNv12rust_kprobes3hit10breakpoint4call'
        for complaints, *functions in (
                # A request leaves it.
                ([], entry(f'call {asks}'),
                 function(asks, 'call irq_work_queue'), queue),
                ([callee('get_kprobe -> irq_work_queue')],
                 entry('call irq_work_queue'), queue),
                ([callee(f'get_kprobe -> {asks} -> vfs_read', asks)],
                 entry(f'call {asks}'), function(asks, 'call vfs_read'),
                 _PROBED),
                # What is behind a hopeless hit is not followed.
                ([], entry('call rust_kprobes_unrecoverable'), _PROBED,
                 function('rust_kprobes_unrecoverable', 'call vfs_read')),
                # Indirect calls that are right.
                ([],
                 entry('call table', *(
                     f'call {name}' for name in handlers)),
                 function('table', 'jmp *0(,%rax,8)'),
                 *(function(name, 'call *%rax') for name in handlers)),
                # An entry in assembly, which is no function by its type.
                (['rust_kprobes_jprobe_enter+0x1: expected a direct call, '
                  'found: rust_kprobes_jprobe_enter -> callq *%rax'],
                 function('rust_kprobes_jprobe_enter', 'nop', 'call *%rax',
                          kind='@notype')),
                # An entry that can be probed.
                ([callee('get_kprobe')],
                 function('get_kprobe', section=_TEXT)),
                (['get_kprobe: expected a function with a size, found none'],
                 f'.section {_KPROBES}, "ax"\n'
                 '.type get_kprobe, @function\nget_kprobe: ret\n')):
            with self.subTest(functions):
                self.says(complaints, *functions)


class Objects(Case):
    """The sections of objects."""

    def test_code_in_its_section_and_outside(self) -> None:
        # What is not run in a hit may be elsewhere, too.
        allowed = ('.init.text', '.exit.text', '.noinstr.text',
                   '.altinstr_replacement', '.text.asan.module_ctor',
                   '.text.asan.module_dtor.7', '.discard.text')
        for sections, target, ret, size in (
                (allowed, 'x86_64-linux-gnu', 'ret', 0),
                (('.text', '.text.unlikely.', '.ref.text'),
                 'x86_64-linux-gnu', 'ret', 1),
                (('.ref.text',), 'armeb-linux-gnueabi', 'bx lr', 4)):
            code = function('hit') + ''.join(
                function(f'f{number}', section=section)
                for number, section in enumerate(sections))
            built = self.build(code.replace('\nret\n', f'\n{ret}\n'), target=target)
            status, lines = self.run_script('--text-of', built)
            self.assertEqual((status, sorted(lines)), (int(size > 0), sorted(
                f'{built}: expected code in .kprobes.text only, '
                f'found: {size} bytes in {section}'
                for section in sections if size)))

    def test_an_architecture_without_a_record(self) -> None:
        for target, words in (('powerpc64le', 'expected hit_path in the record of ppc64le, found'),
                              ('riscv64', 'expected machine [21, 22, 40, 62], found 243')):
            built = self.build('nop\n', target=f'{target}-linux-gnu')
            status, (line,) = self.run_script(built)
            self.assertEqual(status, 1)
            self.assertIn(f'{built}: {words}', line)

    def test_objects_of_a_folder(self) -> None:
        right = self.build(function('hit'), name='right.o')
        (self.tmp / 'inner').mkdir()
        stray = self.build(function('stray', section=_TEXT), name='inner/stray.o')
        # It is there, but not in the kernel.
        self.build(function('unused', section=_TEXT), name='unused.o')
        subprocess.run(['llvm-ar', 'rcST', self.tmp / 'built-in.a', right, stray], check=True)
        self.assertEqual(self.run_script('--text-of', self.tmp), (1, [
            f'{stray}: expected code in .kprobes.text only, '
            'found: 1 bytes in .text']))
