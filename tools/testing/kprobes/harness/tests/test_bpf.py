# SPDX-License-Identifier: GPL-2.0
"""Upstream's tests of BPF: what of them is made, when again, and what is told."""

import re
import subprocess
from types import SimpleNamespace
from unittest import mock

import bpf
import env
import programs
from tests import support

SELFTESTS = 'work/tree/tools/testing/selftests/bpf'


class Making(support.Case):
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
        self.answers = self.write('answers.c', 'int x;\n')
        self.enterContext(mock.patch.object(bpf, '_ANSWERS', self.answers))
        self.enterContext(mock.patch.object(bpf, 'CHOSEN',
                                            self.tmp / 'bpf.tests'))
        self.choose('first/part-*', 'second')
        self.built = SimpleNamespace(name='x86_64-rust-clients',
                                     obj=env.WORK / 'obj')
        self.types, self.clang = 'types', 'clang 22'
        self.calls, self.says, self.fails = [], '', ''

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

    def run_make(self, command, log, *, on_line=None, append=False):
        self.calls.append([str(word) for word in command])
        with log.open('a' if append else 'w') as out:
            out.write(f'$ error: call\n{self.says}')
        place = env.WORK / 'bpf/tree/tools/testing/selftests/bpf'
        if command[0] == 'clang':
            (place / 'answers.so').write_text('')
        elif not self.fails:
            on_line('  CLNG-BPF [test_progs] a.bpf.o')
            self.files = sorted(str(path.relative_to(place)) for path
                                in place.rglob('*') if path.is_file())
            for name in ('test_progs', 'urandom_read', 'liburandom_read.so',
                         'a.bpf.o', 'other.o'):
                (place / name).write_text(str(len(self.calls)))
            (place / 'tools/include').mkdir(parents=True, exist_ok=True)
            (place / 'tools/include/vmlinux.h').write_text('')
        return int(self.fails == command[0])

    def prepare(self, *names):
        before = len(self.calls)
        with mock.patch.object(bpf.procs, 'run', self.run_make), \
                mock.patch.object(bpf.procs, 'output', self.output):
            self.out, without = bpf.prepare(self.built, names or [bpf.CASE])
        self.assertEqual(self.out, env.WORK / 'bpf' / self.built.name)
        return len(self.calls) - before, without

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

    def test_the_makefile_finds_the_kernels_own_files_beside_it(self):
        self.prepare()
        self.assertEqual((env.WORK / 'bpf/tree/tools/lib/bpf/libbpf.c')
                         .read_text(), 'lib\n')

    def test_it_is_made_again_only_where_something_is_another(self):
        self.prepare()
        self.assertEqual(self.prepare(), (0, {}))

        def changed(path, text):
            self.write(path, text)
        for change in (
                lambda: changed(f'{SELFTESTS}/progs/a.c', 'x\n'),
                lambda: changed(f'{SELFTESTS}/progs/c.h', 'x\n'),
                lambda: changed('work/tree/tools/lib/bpf/libbpf.c', 'x\n'),
                lambda: changed('answers.c', 'int y;\n'),
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
        kept = env.WORK / 'bpf/tree/tools/testing/selftests/bpf/kept.o'
        kept.write_text('')
        self.built.name = 'x86_64-c-clients'
        before = []

        def make(command, log, **words):
            before.append((kept.parent / 'tools/include/vmlinux.h').exists())
            return self.run_make(command, log, **words)
        with mock.patch.object(bpf.procs, 'run', make), \
                mock.patch.object(bpf.procs, 'output', self.output):
            bpf.prepare(self.built, [bpf.CASE])
        # make does not take the types of the other kernel for this one's.
        self.assertEqual((kept.exists(), before[0]), (True, False))
        self.built.name = 'x86_64-rust-clients'
        self.assertEqual(self.prepare(), (0, {}))

    def test_of_others_sources_there_is_another_copy(self):
        self.prepare()
        gone = env.WORK / 'bpf/tree/tools/testing/selftests/bpf/gone.o'
        gone.write_text('')
        self.choose('first')
        self.prepare()
        self.assertFalse(gone.exists())
        self.assertNotIn('prog_tests/two.c', self.files)

    def test_what_does_not_compile_is_told_and_tried_again(self):
        self.says = '  CC a.o\na.c:3:1: error: no x\nmake: *** [a.o] Error 1\n'
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

    def test_the_first_error_of_a_log(self):
        for text, told in (
                ('', 'no word'), ('one\ntwo\n', 'two'),
                ('ld: x.o: undefined reference to `y\'\nlast\n',
                 'ld: x.o: undefined reference to `y\''),
                ('  CC error.o\nmake: *** No rule to make target x\nlast\n',
                 'make: *** No rule to make target x')):
            path = self.write('work/log', f'$ make error: call\n{text}')
            self.assertEqual(bpf.complaint(path), told)

    def test_a_test_that_is_not_there_is_refused(self):
        self.choose('first', 'thirst/part')
        with self.refused('called thirst', 'bpf.tests'):
            self.prepare()


class Running(support.Case):
    def test_a_guest_has_them_or_is_not_booted(self):
        self.enterContext(mock.patch.object(programs, 'FOLDER',
                                            env.WORK / 'cases'))
        self.enterContext(mock.patch.object(programs, '_KEPT',
                                            env.WORK / 'kept'))
        self.write('work/cases/upstream/bpf.sh', '# x\n')
        built = SimpleNamespace(impl='rust', name='x86_64-rust-clients',
                                arch='x86_64', obj=env.WORK / 'obj')
        boots, modules = [], []

        def upstreams(_built, folder):
            modules.append(folder)
            return []

        def boot(_built, _image, *, extra, **_):
            boots.append([one for one in extra if 'id=bpf,' in one])
            return SimpleNamespace(splats=[])
        for without in ({}, {bpf.CASE: 'error: x'}):
            with mock.patch.object(programs.guest, 'initramfs'), \
                    mock.patch.object(programs.qemu, 'boot', boot), \
                    mock.patch.object(programs.kernel, 'upstreams',
                                      upstreams), \
                    mock.patch.object(programs.bpf, 'prepare', lambda *_: (
                        env.WORK / 'of-bpf', without)), \
                    mock.patch.dict('os.environ', {'KP_CLIENTS': '/x'}):
                found, _ = programs.run(built, [bpf.CASE])
        self.assertEqual(found, {bpf.CASE: programs.Outcome(
            'skip', 'it does not compile: error: x')})
        self.assertEqual(len(boots), 1)
        self.assertIn(f'path={env.WORK}/of-bpf,', boots[0][0])
        self.assertIn('readonly=on', boots[0][0])
        self.assertIn(bpf.KMODS, modules)


class Files(support.Case):
    def leaves(self, text):
        script = (env.KPROBES / 'clients/upstream/bpf.sh').read_text()
        program = re.search(r"^awk '\n(.*?)^' out$", script,
                            re.MULTILINE | re.DOTALL)
        path = self.write('out', text)
        return subprocess.run(['awk', program[1], path], check=True, text=True,
                              capture_output=True).stdout.splitlines()

    def test_each_part_of_a_test_is_one_and_so_is_a_test_without(self):
        self.assertEqual(self.leaves(
            'WARNING! x\n#1/1     a/one:OK\n#1/2     a/two:SKIP\n'
            '#1       a:OK (SKIP: 1/2)\n#12      b:OK\n#13      c:SKIP\n'),
            ['leaf: a/one pass', 'leaf: a/two skip SKIP: no word',
             'leaf: b pass', 'leaf: c skip SKIP: no word'])

    def test_what_was_wrong_is_said_with_what_failed(self):
        self.assertEqual(self.leaves(
            'libbpf: as it should\nx:PASS:load 0 nsec\nx:FAIL:attach -2\n'
            'libbpf: later\ny:FAIL:later\n'
            '#1/1     a/one:FAIL\n#1/2     a/two:OK\n#1       a:FAIL\n'
            'libbpf: no hook\nlibbpf: not loaded\nz:FAIL:load\n'
            '#2       b:FAIL\n'),
            ['leaf: a/one fail FAIL: x:FAIL:attach -2', 'leaf: a/two pass',
             'leaf: b fail FAIL: libbpf: no hook; z:FAIL:load'])

    def test_a_test_may_fail_where_no_part_of_it_does(self):
        self.assertEqual(self.leaves(
            'x:FAIL:cleanup\n#1/1     a/one:OK\n#1       a:FAIL\n'),
            ['leaf: a/one pass', 'leaf: a fail FAIL: x:FAIL:cleanup'])

    def test_what_is_said_again_at_the_end_counts_once(self):
        self.assertEqual(self.leaves(
            '#1       a:FAIL\n\nAll error logs:\n#1       a:FAIL\n'
            'Summary: 0/0 PASSED, 0 SKIPPED, 1/0 FAILED\n'),
            ['leaf: a fail FAIL: no word'])

    def test_the_guest_runs_those_that_are_chosen(self):
        script = (env.KPROBES / f'clients/{bpf.CASE}.sh').read_text()
        self.assertIn(f'=@/clients/upstream/{bpf.CHOSEN.name}', script)
        self.assertGreater(len(bpf.tests()), 10)
