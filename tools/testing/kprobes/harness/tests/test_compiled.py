# SPDX-License-Identifier: GPL-2.0
"""What make test-clients compiles before the guest boots, and when again."""

import os
import re
import subprocess
from types import SimpleNamespace
from unittest import mock

import env
from clients import bpf, common, stap
from tests import support

SELFTESTS = 'work/tree/tools/testing/selftests/bpf'


class Compiling(support.Case):
    """Other programs are replaced by run_ and output; calls are counted."""

    def setUp(self) -> None:
        super().setUp()
        self.built = SimpleNamespace(name='x86_64-rust-clients',
                                     obj=env.WORK / 'obj', release='7.3.4')
        self.calls, self.log, self.fails = [], '', ''
        for where, name, put in (
                (bpf.procs, 'run', self.run_),
                (bpf.procs, 'output', self.output),
                (stap, 'FOLDER', self.tmp / 'clients/stap'),
                (bpf, '_ANSWERS', self.write('answers.c', 'int x;\n')),
                (bpf, 'CHOSEN', self.tmp / 'bpf.tests')):
            self.enterContext(mock.patch.object(where, name, put))

    def prepare(self, *names):
        """(how many calls that took, {case: why it has none})."""
        before = len(self.calls)
        self.out, failures = self.compiler.prepare(self.built, names)
        return len(self.calls) - before, failures


class Scripts(Compiling):
    compiler = stap

    def setUp(self) -> None:
        super().setUp()
        self.enterContext(mock.patch.object(
            stap, '__file__', self.write('stap.py', '')))
        self.write('clients/stap/kernel.h', '/* h */\n')
        self.write('clients/inside.py', '')
        self.write('work/obj/vmlinux', '')
        self.script('one', 'probe begin {}\n')
        self.script('two', 'probe module("the_one").function("x") {}\n')
        self.write('work/obj/samples/the-one.ko', '')

    def change(self, path, text='x'):
        """TEXT into PATH, an hour after all that has been done so far."""
        for there in self.tmp.rglob('*'):
            before = there.stat().st_mtime - 3600
            os.utime(there, (before, before))
        self.write(path, text)

    def script(self, name, text):
        self.write(f'clients/stap/{name}.stp', text)

    def output(self, command):
        return f'address of {command[2]}\n'

    def run_(self, command, log, *, cwd, **_):
        self.calls.append([str(word) for word in command])
        log.write_text(f'$ stap with an error: none\n{self.log}')
        name = command[command.index('-m') + 1]
        if not self.fails:
            (cwd / f'{name}.ko').write_text(str(len(self.calls)))
        return int(bool(self.fails))

    def made(self):
        """The number of the call that made each module."""
        return {path.stem.removeprefix('stap_'): path.read_text()
                for path in self.out.glob('stap_*.ko')}

    def test_a_root_that_was_made_without_it(self) -> None:
        names = ['bpf/a', 'perf/b', 'perf/c', 'stap/one']
        stap.require(names)
        without = self.write('without', 'systemtap\n')
        with mock.patch.object(stap, 'WITHOUT', without):
            stap.require(names[:3])
            with self.refused('systemtap was not to be had', 'make distclean',
                              'ARGS="bpf perf"'):
                stap.require(names)

    def test_a_script_is_compiled_again_if_what_it_is_made_of_changes(self):
        self.prepare('stap/one')
        self.prepare('perf/a', 'stap/two')
        for path, one, two in (('clients/stap/one.stp', '3', '2'),
                               ('clients/stap/kernel.h', '4', '5'),
                               ('clients/inside.py', '6', '7'),
                               ('stap.py', '8', '9'),
                               ('work/obj/samples/the-one.ko', '10', '11')):
            self.change(path)
            self.prepare('perf/a', 'stap/one', 'stap/two')
            self.assertEqual(self.made(), {'one': one, 'two': two})
            self.assertEqual(self.prepare('stap/one', 'stap/two'), (0, {}))
        # Another kernel leaves nothing of the one before.
        self.change('work/obj/vmlinux')
        self.prepare('stap/one')
        self.assertEqual(self.made(), {'one': '12'})

    def test_what_does_not_compile_says_why_and_is_tried_again(self) -> None:
        self.prepare('stap/one')
        self.change('clients/stap/one.stp', 'probe nothing {}\n')
        self.fails = 'stap'
        self.log = 'WARNING: x\nsemantic error: no match\nTip: read\n'
        self.assertEqual(self.prepare('stap/one', 'stap/none'), (1, {
            'stap/one': 'semantic error: no match',
            'stap/none': 'there is no none.stp beside it'}))
        self.assertEqual(self.made(), {})
        self.fails = ''
        self.assertEqual(self.prepare('stap/one'), (1, {}))


class Program(Compiling):
    """Upstream's tests of BPF."""

    compiler = bpf

    def setUp(self) -> None:
        super().setUp()
        for name, text in {
                'Makefile': 'all:\n', 'test_progs.c': 'main\n',
                'verifier/big.c': '',
                'prog_tests/one.c': '#include "a.skel.h"\n'
                'void test_first(void)\n',
                'prog_tests/two.c': 'open_file("./b.bpf.o");\n'
                'void serial_test_second(void)\n',
                'prog_tests/three.c': '#include "c.skel.h"\n'
                'void test_first_of_all(void)\n',
                'progs/a.c': 'a\n', 'progs/b.c': '', 'progs/c.c': '',
                'progs/c.h': ''}.items():
            self.write(f'{SELFTESTS}/{name}', text)
        self.write('work/tree/tools/lib/bpf/libbpf.c', 'lib\n')
        self.choose('first/part-*', 'second')
        self.types, self.clang = 'types', 'clang 22'
        self.place = env.WORK / 'bpf/tree/tools/testing/selftests/bpf'

    def choose(self, *names):
        self.write('bpf.tests', '# SPDX\n' + ''.join(
            f'{name}  # why\n' for name in names))

    def output(self, command):
        if command[0] == 'clang':
            return self.clang
        command[-1].write_text(f'{command[-2]} {self.types}')
        return ''

    def run_(self, command, log, *, append=False, **_):
        self.calls.append([str(word) for word in command])
        with log.open('a' if append else 'w') as out:
            out.write(f'$ error: call\n{self.log}')
        if command[0] == 'clang':
            (self.place / 'answers.so').write_text('')
        elif not self.fails:
            # make does not take the types of another kernel for this one's.
            self.assertFalse(
                (self.place / 'tools/include/vmlinux.h').exists())
            self.files = {str(path.relative_to(self.place))
                          for path in self.place.rglob('*.c')}
            for name in ('test_progs', 'urandom_read', 'a.bpf.o',
                         'liburandom_read.so', 'tools/include/vmlinux.h'):
                self.write(self.place / name, str(len(self.calls)))
        return int(self.fails == command[0])

    def test_only_what_is_chosen_is_compiled_and_what_it_loads(self) -> None:
        self.assertEqual(self.prepare('upstream/ftrace'), (0, {}))
        self.assertEqual(self.prepare(bpf.CASE), (2, {}))
        self.assertEqual(self.files, {'prog_tests/one.c', 'prog_tests/two.c',
                                      'progs/a.c', 'progs/b.c',
                                      'test_progs.c'})
        self.assertEqual({path.name for path in self.out.iterdir()},
                         {'a.bpf.o', 'answers.so', 'liburandom_read.so',
                          'test_progs', 'urandom_read'})

    def test_it_is_made_again_only_where_something_is_another(self) -> None:
        for change, calls in (
                (lambda: None, 2),
                (lambda: self.write(f'{SELFTESTS}/progs/c.h', 'x\n'), 2),
                (lambda: self.write('work/tree/tools/lib/bpf/libbpf.c', 'x'),
                 2),
                (lambda: self.write('answers.c', 'int y;\n'), 2),
                (lambda: self.choose('first', 'second', 'first_of_all'), 2),
                (lambda: setattr(self, 'types', 'others'), 2),
                (lambda: setattr(self, 'clang', 'clang 23'), 2),
                (lambda: self.write(f'{SELFTESTS}/progs/none.c', 'x'), 0)):
            change()
            self.assertEqual(self.prepare(bpf.CASE), (calls, {}))
            self.assertEqual(self.prepare(bpf.CASE), (0, {}))

    def test_what_does_not_compile_is_told_and_tried_again(self) -> None:
        self.log = '  CC a.o\na.c:3:1: error: no x\nmake: *** [a.o] Error 1\n'
        for tool, calls in (('make', 1), ('clang', 2)):
            self.fails = tool
            for _ in range(2):
                self.assertEqual(self.prepare(bpf.CASE), (calls, {
                    bpf.CASE: 'a.c:3:1: error: no x'}))
        self.fails = 'make'
        with mock.patch.object(bpf.procs, 'no_space', return_value=True), \
                self.refused('the disk is full'):
            self.prepare(bpf.CASE)
        self.choose('first', 'thirst/part')
        with self.refused('called thirst', 'bpf.tests'):
            self.prepare(bpf.CASE)


class Files(support.Case):
    def test_the_verdicts_of_bpf_tests_are_leaves(self) -> None:
        script = (common.FOLDER / f'{bpf.CASE}.sh').read_text()
        self.assertIn(f'=@/clients/upstream/{bpf.CHOSEN.name}', script)
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
