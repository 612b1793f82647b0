# SPDX-License-Identifier: GPL-2.0
"""What make test-clients compiles before the guest boots, and when again."""

import os
import re
import subprocess
import sys
from types import SimpleNamespace
from unittest import mock

import env
from clients import bpf, common, stap
from tests import support

SELFTESTS = 'work/tree/tools/testing/selftests/bpf'


class Compiling(support.Case):
    """Other programs are replaced by run_ and output; calls are counted."""

    def setUp(self):
        super().setUp()
        self.built = SimpleNamespace(name='x86_64-rust-clients',
                                     obj=env.WORK / 'obj', release='7.3.4')
        self.calls, self.log, self.fails = [], '', ''
        for name, function in (('run', self.run_), ('output', self.output)):
            self.enterContext(mock.patch.object(bpf.procs, name, function))

    def prepare(self, *names):
        """(how many calls that took, {case: why it has none})."""
        before = len(self.calls)
        self.out, failures = self.compiler.prepare(self.built, names)
        self.assertEqual(self.out, env.WORK / self.folder / self.built.name)
        return len(self.calls) - before, failures


class Scripts(Compiling):
    compiler, folder = stap, 'stap'

    def setUp(self):
        super().setUp()
        for name, path in (('FOLDER', self.tmp / 'clients/stap'),
                           ('__file__', self.write('stap.py', ''))):
            self.enterContext(mock.patch.object(stap, name, path))
        self.write('clients/stap/kernel.h', '/* h */\n')
        self.script('one', 'probe begin {}\n')
        self.script('two', 'probe module("the_one").function("x") {}\n')
        self.write('clients/inside.py', '')
        self.write('work/obj/vmlinux', '')
        self.write('work/obj/samples/the-one.ko', '')

    def script(self, name, text):
        self.write(f'clients/stap/{name}.stp', text)

    def output(self, command):
        self.assertEqual(command[:2], [sys.executable,
                                       self.tmp / 'clients/inside.py'])
        return f'address of {command[2]} in {command[3].name}\n'

    def run_(self, command, log, *, cwd, extra):
        self.calls.append([str(word) for word in command])
        self.assertEqual(extra, {'SYSTEMTAP_DIR': str(cwd)})
        log.write_text(f'$ stap with an error: none\n{self.log}')
        name = command[command.index('-m') + 1]
        if not self.fails:
            (cwd / f'{name}.ko').write_text(str(len(self.calls)))
        return int(bool(self.fails))

    def change(self, path, text='x'):
        """TEXT into PATH, an hour after all that has been done so far."""
        for there in self.tmp.rglob('*'):
            before = there.stat().st_mtime - 3600
            os.utime(there, (before, before))
        self.write(path, text)

    def made(self):
        """The number of the call that made each module."""
        return {path.stem: path.read_text()
                for path in self.out.glob('stap_*.ko')}

    def test_a_root_that_was_made_without_it(self):
        names = ['bpf/a', 'perf/b', 'perf/c', 'stap/one']
        stap.require(names)
        without = self.write('without', 'systemtap\n')
        with mock.patch.object(stap, 'WITHOUT', without):
            stap.require(names[:3])
            with self.refused('systemtap was not to be had', 'make distclean',
                              'ARGS="bpf perf"'):
                stap.require(names)

    def test_other_cases_need_nothing_but_a_folder(self):
        self.assertEqual(self.prepare('perf/a', 'perf/stap'), (0, {}))
        self.assertTrue(self.out.is_dir())

    def test_a_script_is_compiled_again_if_what_it_is_made_of_changes(self):
        self.assertEqual(self.prepare('perf/a', 'stap/one'), (1, {}))
        self.assertEqual(self.prepare('stap/one', 'stap/two'), (1, {}))
        for path, one, two in (('clients/stap/one.stp', '3', '2'),
                               ('clients/stap/kernel.h', '4', '5'),
                               ('clients/inside.py', '6', '7'),
                               ('stap.py', '8', '9'),
                               ('work/obj/samples/the-one.ko', '10', '11')):
            self.change(path)
            self.prepare('stap/one', 'stap/two')
            self.assertEqual(self.made(), {'stap_one': one, 'stap_two': two})
            self.assertEqual(self.prepare('stap/one', 'stap/two'), (0, {}))

    def test_another_kernel_leaves_nothing_of_the_one_before(self):
        self.prepare('stap/one', 'stap/two')
        self.change('work/obj/vmlinux')
        self.assertEqual(self.prepare('stap/one')[0], 1)
        self.assertEqual(self.made(), {'stap_one': '3'})

    def test_what_does_not_compile_says_why_and_is_tried_again(self):
        self.prepare('stap/one')
        self.change('clients/stap/one.stp', 'probe nothing {}\n')
        self.fails = 'stap'
        self.log = 'WARNING: x\nsemantic error: no match\nTip: read\n'
        self.assertEqual(self.prepare('stap/one'),
                         (1, {'stap/one': 'semantic error: no match'}))
        self.assertEqual(self.made(), {})
        self.fails = ''
        self.assertEqual(self.prepare('stap/one'), (1, {}))

    def test_the_first_error_is_told_else_the_last_line(self):
        for text, told in (
                ('In file x:\nx.c:1:2: error: no f\ny.c:1: error: g\n',
                 'x.c:1:2: error: no f'),
                ('parse error: here\nsemantic error: x\n',
                 'parse error: here'),
                ('ld: x.o: undefined reference to `y\'\nlast\n',
                 'ld: x.o: undefined reference to `y\''),
                ('  CC error.o\nmake: *** No rule to make target x\nlast\n',
                 'make: *** No rule to make target x'),
                ('x\nthe end\n\n', 'the end'), ('', 'no word')):
            path = self.write('work/log', f'$ make error: call\n{text}')
            self.assertEqual(common.complaint(path), told)

    def test_a_case_without_a_script(self):
        self.assertEqual(self.prepare('stap/none'), (0, {
            'stap/none': 'there is no none.stp beside it'}))

    def test_the_head_says_what_the_call_needs(self):
        self.script('one', '# SPDX\n# options: -g -d kernel\n'
                    '# inside: vfs_x\nprobe begin {}\n# options: -z\n')
        self.prepare('stap/one')
        call, = self.calls
        at = call.index('stap')
        self.assertEqual(call[at + 1:at + 5], ['-p4', '-g', '-d', 'kernel'])
        self.assertEqual(call[-2:], [str(stap.FOLDER / 'one.stp'),
                                     'address of vfs_x in vmlinux'])
        self.assertNotIn('-z', call)
        # No other case sees a symbol map of this kernel.
        self.assertEqual(call[:4], ['unshare', '--mount', '--propagation',
                                    'private'])
        self.assertEqual(call[at - 2:at],
                         [str(env.WORK / 'obj/System.map'), '7.3.4'])


class Program(Compiling):
    """Upstream's tests of BPF."""

    compiler, folder = bpf, 'bpf'

    def setUp(self):
        super().setUp()
        for name, text in {
                'Makefile': 'all:\n', 'test_progs.c': 'main\n',
                'verifier/big.c': '', 'test_kmods/kfunc.h': '',
                'prog_tests/one.c': '#include "a.skel.h"\n'
                'void test_first(void)\n',
                'prog_tests/two.c': 'open_file("./b.bpf.o");\n'
                'void serial_test_second(void)\n',
                'prog_tests/three.c': '#include "c.skel.h"\n'
                'void test_first_of_all(void)\n',
                'prog_tests/three.h': '', 'progs/a.c': 'a\n',
                'progs/b.c': '', 'progs/c.c': '', 'progs/c.h': ''}.items():
            self.write(f'{SELFTESTS}/{name}', text)
        self.write('work/tree/tools/lib/bpf/libbpf.c', 'lib\n')
        self.enterContext(mock.patch.object(
            bpf, '_ANSWERS', self.write('answers.c', 'int x;\n')))
        self.enterContext(mock.patch.object(bpf, 'CHOSEN',
                                            self.tmp / 'bpf.tests'))
        self.choose('first/part-*', 'second')
        self.types, self.clang = 'types', 'clang 22'
        self.place = env.WORK / 'bpf/tree/tools/testing/selftests/bpf'

    def choose(self, *names):
        self.write('bpf.tests', '# SPDX\n' + ''.join(
            f'{name}  # why\n' for name in names))

    def output(self, command):
        if command[0] == 'clang':
            return self.clang
        self.assertEqual(command[0], 'llvm-objcopy')
        self.assertIn('--only-section=.BTF', command)
        command[-1].write_text(f'{command[-2]} {self.types}')
        return ''

    def run_(self, command, log, *, on_line=None, append=False):
        self.calls.append([str(word) for word in command])
        with log.open('a' if append else 'w') as out:
            out.write(f'$ error: call\n{self.log}')
        if command[0] == 'clang':
            (self.place / 'answers.so').write_text('')
        elif not self.fails:
            # make does not take the types of another kernel for this one's.
            self.assertFalse(
                (self.place / 'tools/include/vmlinux.h').exists())
            on_line('  CLNG-BPF [test_progs] a.bpf.o')
            self.files = sorted(str(path.relative_to(self.place))
                                for path in self.place.rglob('*')
                                if path.is_file())
            for name in ('test_progs', 'urandom_read', 'liburandom_read.so',
                         'a.bpf.o', 'other.o', 'tools/include/vmlinux.h'):
                self.write(self.place / name, str(len(self.calls)))
        return int(self.fails == command[0])

    def prepare(self, *names):
        return super().prepare(*(names or [bpf.CASE]))

    def test_other_cases_need_nothing_but_a_folder(self):
        self.assertEqual(self.prepare('upstream/ftrace'), (0, {}))
        self.assertEqual(list(self.out.iterdir()), [])

    def test_only_what_is_chosen_is_compiled_and_what_it_loads(self):
        self.assertEqual(self.prepare(), (2, {}))
        self.assertEqual(self.files, [
            'Makefile', 'prog_tests/one.c', 'prog_tests/three.h',
            'prog_tests/two.c', 'progs/a.c', 'progs/b.c', 'progs/c.h',
            'test_kmods/kfunc.h', 'test_progs.c'])
        self.assertIn(f'VMLINUX_BTF={env.WORK}/obj/vmlinux', self.calls[0])
        self.assertEqual(
            sorted(path.name for path in self.out.iterdir()),
            ['a.bpf.o', 'answers.so', 'liburandom_read.so', 'test_progs',
             'urandom_read'])
        # The Makefile finds the kernel's own files beside it.
        self.assertEqual((env.WORK / 'bpf/tree/tools/lib/bpf/libbpf.c')
                         .read_text(), 'lib\n')

    def test_it_is_made_again_only_where_something_is_another(self):
        self.prepare()
        self.assertEqual(self.prepare(), (0, {}))
        for change in (
                lambda: self.write(f'{SELFTESTS}/progs/a.c', 'x\n'),
                lambda: self.write(f'{SELFTESTS}/progs/c.h', 'x\n'),
                lambda: self.write('work/tree/tools/lib/bpf/libbpf.c', 'x\n'),
                lambda: self.write('answers.c', 'int y;\n'),
                lambda: self.choose('first', 'second', 'first_of_all'),
                lambda: self.enterContext(mock.patch.object(
                    bpf, '_WORDS', (*bpf._WORDS, 'RELEASE=1'))),
                lambda: setattr(self, 'types', 'others'),
                lambda: setattr(self, 'clang', 'clang 23')):
            change()
            self.assertEqual(self.prepare(), (2, {}))
            self.assertEqual(self.prepare(), (0, {}))
        self.write(f'{SELFTESTS}/progs/none.c', 'x\n')
        self.assertEqual(self.prepare(), (0, {}))

    def test_a_copy_is_kept_for_a_kernel_with_other_types(self):
        self.prepare()
        self.write(self.place / 'kept.o', '')
        self.built.name = 'x86_64-c-clients'
        self.prepare()
        self.assertTrue((self.place / 'kept.o').exists())
        self.built.name = 'x86_64-rust-clients'
        self.assertEqual(self.prepare(), (0, {}))

    def test_of_others_sources_there_is_another_copy(self):
        self.prepare()
        self.write(self.place / 'gone.o', '')
        self.choose('first')
        self.prepare()
        self.assertFalse((self.place / 'gone.o').exists())
        self.assertNotIn('prog_tests/two.c', self.files)

    def test_what_does_not_compile_is_told_and_tried_again(self):
        self.log = '  CC a.o\na.c:3:1: error: no x\nmake: *** [a.o] Error 1\n'
        for tool, calls in (('make', 1), ('clang', 2)):
            self.fails = tool
            for _ in range(2):
                self.assertEqual(self.prepare(), (calls, {
                    bpf.CASE: 'a.c:3:1: error: no x'}))
        self.fails = ''
        self.assertEqual(self.prepare(), (2, {}))

    def test_a_disk_that_filled_up_is_no_error_of_theirs(self):
        self.fails = 'make'
        with mock.patch.object(bpf.procs, 'no_space', return_value=True), \
                self.refused('the disk is full'):
            self.prepare()

    def test_a_test_that_is_not_there_is_refused(self):
        self.choose('first', 'thirst/part')
        with self.refused('called thirst', 'bpf.tests'):
            self.prepare()


class Files(support.Case):
    def test_the_verdicts_of_bpf_tests_are_leaves(self):
        script = (common.FOLDER / f'{bpf.CASE}.sh').read_text()
        self.assertIn(f'=@/clients/upstream/{bpf.CHOSEN.name}', script)
        self.assertGreater(len(bpf.tests()), 10)
        program = re.search(r"^awk '\n(.*?)^' out$", script,
                            re.MULTILINE | re.DOTALL)[1]
        for text, leaves in (
                # Each part is one, and so is a test without parts.
                ('WARNING! x\n#1/1     a/one:OK\n#1/2     a/two:SKIP\n'
                 '#1       a:OK (SKIP: 1/2)\n#12      b:OK\n#13      c:SKIP\n',
                 ['a/one pass', 'a/two skip SKIP: no word', 'b pass',
                  'c skip SKIP: no word']),
                # What was wrong is said with what failed.
                ('libbpf: as it should\nx:PASS:load 0 nsec\n'
                 'x:FAIL:attach -2\nlibbpf: later\ny:FAIL:later\n'
                 '#1/1     a/one:FAIL\n#1/2     a/two:OK\n#1       a:FAIL\n'
                 'libbpf: no hook\nlibbpf: not loaded\nz:FAIL:load\n'
                 '#2       b:FAIL\n',
                 ['a/one fail FAIL: x:FAIL:attach -2', 'a/two pass',
                  'b fail FAIL: libbpf: no hook; z:FAIL:load']),
                # A test may fail where no part of it does.
                ('x:FAIL:cleanup\n#1/1     a/one:OK\n#1       a:FAIL\n',
                 ['a/one pass', 'a fail FAIL: x:FAIL:cleanup']),
                # What is said again at the end counts once.
                ('#1       a:FAIL\n\nAll error logs:\n#1       a:FAIL\n'
                 'Summary: 0/0 PASSED, 0 SKIPPED, 1/0 FAILED\n',
                 ['a fail FAIL: no word'])):
            self.assertEqual(subprocess.run(
                ['awk', program, self.write('out', text)], check=True,
                text=True, capture_output=True).stdout.splitlines(),
                [f'leaf: {leaf}' for leaf in leaves])

    def test_each_case_of_systemtap_has_a_script_that_it_loads(self):
        cases = {path.stem: path for path in stap.FOLDER.glob('*.sh')}
        scripts = {path.stem: path for path in stap.FOLDER.glob('*.stp')}
        self.assertTrue(cases)
        self.assertEqual(set(cases), set(scripts))
        for name, path in cases.items():
            self.assertEqual(
                re.findall(r'staprun /\S*', path.read_text()),
                [f'staprun /stap/stap_{name}.ko'])
            lines = scripts[name].read_text().splitlines()
            self.assertTrue([line for line in lines[1:5] if line.startswith(
                '# ') and not common.HEAD.match(line)], name)

    def test_the_middle_of_a_function_as_an_offset_and_as_an_address(self):
        lines = ''.join(f'ffffffff8100{at:04x}:\t90\n' for at in range(20))
        tool = self.write('work/bin/objdump',
                          f'#!/bin/sh\necho "$3" >&2\ncat <<E\n{lines}E\n')
        tool.chmod(0o755)
        for words, told in (([], '0xa'), (['/x/vmlinux'],
                                          '0xffffffff8100000a')):
            process = subprocess.run(
                [sys.executable, common.FOLDER / 'inside.py', 'f', *words],
                capture_output=True, text=True, check=True,
                env={**os.environ,
                     'PATH': f'{tool.parent}:{os.environ["PATH"]}'})
            self.assertEqual(process.stdout.strip(), told)
