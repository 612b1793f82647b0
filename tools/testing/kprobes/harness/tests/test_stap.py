# SPDX-License-Identifier: GPL-2.0
"""SystemTap's scripts: what is compiled, when again, and what is told of it."""

import os
import re
import subprocess
import sys
from types import SimpleNamespace
from unittest import mock

import env
import heads
import programs
import stap
from tests import support


class Compiling(support.Case):
    def setUp(self):
        super().setUp()
        self.folder = self.tmp / 'clients/stap'
        self.enterContext(mock.patch.object(stap, 'FOLDER', self.folder))
        self.write('clients/stap/kernel.h', '/* h */\n')
        self.script('one', 'probe begin {}\n')
        self.built = SimpleNamespace(name='x86_64-rust-clients',
                                     obj=env.WORK / 'obj', release='7.3.4')
        self.ids = {'vmlinux': 'a1'}
        self.calls, self.says, self.status = [], '', 0

    def script(self, name, text):
        self.write(f'clients/stap/{name}.stp', text)

    def output(self, command):
        if command[0] == 'llvm-readelf':
            found = self.ids.get(os.path.basename(command[-1]))
            return f'  Build ID: {found}\n' if found else 'no notes\n'
        self.assertEqual(command[:2], [sys.executable,
                                       self.tmp / 'clients/inside.py'])
        return f'address of {command[2]} in {command[3].name}\n'

    def run_stap(self, command, log, *, cwd, extra):
        self.calls.append([str(word) for word in command])
        self.assertEqual(extra, {'SYSTEMTAP_DIR': str(cwd)})
        log.write_text(f'$ stap with an error: none\n{self.says}')
        name = command[command.index('-m') + 1]
        if not self.status:
            (cwd / f'{name}.ko').write_text(str(len(self.calls)))
        return self.status

    def prepare(self, *names):
        before = len(self.calls)
        with mock.patch.object(stap.procs, 'run', self.run_stap), \
                mock.patch.object(stap.procs, 'output', self.output):
            folder, without = stap.prepare(self.built, names)
        self.assertEqual(folder, env.WORK / 'stap/x86_64-rust-clients')
        return len(self.calls) - before, without

    def made(self, name):
        path = env.WORK / f'stap/x86_64-rust-clients/stap_{name}.ko'
        return path.read_text() if path.exists() else None

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
        self.assertTrue((env.WORK / 'stap/x86_64-rust-clients').is_dir())

    def test_a_script_is_compiled_once(self):
        self.assertEqual(self.prepare('perf/a', 'stap/one'), (1, {}))
        self.assertEqual(self.made('one'), '1')
        self.assertEqual(self.prepare('stap/one'), (0, {}))
        self.script('two', 'probe end {}\n')
        self.assertEqual(self.prepare('stap/one', 'stap/two'), (1, {}))
        self.assertEqual((self.made('one'), self.made('two')), ('1', '2'))

    def test_another_script_or_header_is_compiled_again(self):
        self.prepare('stap/one')
        self.script('one', 'probe end {}\n')
        self.assertEqual(self.prepare('stap/one')[0], 1)
        self.write('clients/stap/kernel.h', '/* i */\n')
        self.assertEqual(self.prepare('stap/one')[0], 1)

    def test_another_kernel_leaves_nothing_of_the_one_before(self):
        self.script('two', 'probe end {}\n')
        self.prepare('stap/one', 'stap/two')
        self.ids['vmlinux'] = 'b2'
        self.assertEqual(self.prepare('stap/one')[0], 1)
        self.assertEqual((self.made('one'), self.made('two')), ('3', None))

    def test_another_module_concerns_who_names_it(self):
        self.script('two', 'probe module("the_one").function("x") {}\n')
        self.write('work/obj/samples/the-one.ko', '')
        self.ids['the-one.ko'] = 'm1'
        self.prepare('stap/one', 'stap/two')
        self.ids['the-one.ko'] = 'm2'
        self.assertEqual(self.prepare('stap/one', 'stap/two')[0], 1)
        self.assertEqual((self.made('one'), self.made('two')), ('1', '3'))

    def test_what_does_not_compile_says_why_and_is_tried_again(self):
        self.prepare('stap/one')
        self.script('one', 'probe nothing {}\n')
        self.status = 1
        self.says = 'WARNING: x\nsemantic error: no match\nTip: read\n'
        self.assertEqual(self.prepare('stap/one'),
                         (1, {'stap/one': 'semantic error: no match'}))
        self.assertIsNone(self.made('one'))
        self.status = 0
        self.assertEqual(self.prepare('stap/one'), (1, {}))

    def test_the_first_error_is_told_else_the_last_line(self):
        for text, told in (
                ('In file x:\nx.c:1:2: error: no f\ny.c:1: error: g\n',
                 'x.c:1:2: error: no f'),
                ('parse error: here\nsemantic error: x\n',
                 'parse error: here'),
                ('x\nthe end\n\n', 'the end'), ('', 'no word')):
            path = self.write('work/log', f'$ a error: call\n{text}')
            self.assertEqual(stap.complaint(path), told)

    def test_a_case_without_a_script(self):
        self.assertEqual(self.prepare('stap/none'), (0, {
            'stap/none': 'there is no none.stp beside it'}))

    def test_a_kernel_that_nothing_identifies_is_refused(self):
        self.ids.clear()
        with self.refused('build id', 'vmlinux'):
            self.prepare('stap/one')

    def test_the_head_says_what_the_call_needs(self):
        self.script('one', '# SPDX\n# options: -g -d kernel\n'
                    '# inside: vfs_x\nprobe begin {}\n# options: -z\n')
        self.prepare('stap/one')
        call = self.calls[0]
        call = call[call.index('stap'):]
        self.assertEqual(call[:5], ['stap', '-p4', '-g', '-d', 'kernel'])
        self.assertEqual(call[-2:], [str(self.folder / 'one.stp'),
                                     'address of vfs_x in vmlinux'])
        self.assertNotIn('-z', call)

    def test_no_other_case_sees_a_symbol_map_of_this_kernel(self):
        self.prepare('stap/one')
        call = self.calls[0]
        self.assertEqual(call[:4], ['unshare', '--mount', '--propagation',
                                    'private'])
        at = call.index('stap')
        self.assertEqual(call[at - 2:at],
                         [str(env.WORK / 'obj/System.map'), '7.3.4'])


class Running(support.Case):
    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(programs, 'FOLDER',
                                            env.WORK / 'cases'))
        self.enterContext(mock.patch.object(programs, '_KEPT',
                                            env.WORK / 'kept'))
        for name in ('perf/a', 'stap/a', 'stap/b'):
            self.write(f'work/cases/{name}.sh', '# x\n')
        self.built = SimpleNamespace(
            impl='rust', name='x86_64-rust-clients', arch='x86_64',
            obj=env.WORK / 'obj')
        self.write('work/obj/modules-of-clients/old.ko', '')

    def run_cases(self, *names):
        self.jobs, self.extra = [], []

        def prepare(_built, asked):
            self.assertEqual(tuple(asked), names)
            self.assertFalse((env.WORK / 'obj/modules-of-clients').exists())
            return env.WORK / 'scripts', {'stap/a': 'error: x'}

        def boot(_built, _image, *, extra, **_):
            self.extra = extra
            return SimpleNamespace(splats=[])
        with mock.patch.object(
                programs.guest, 'initramfs',
                side_effect=lambda _built, _name, job: self.jobs.append(job)), \
                mock.patch.object(programs.qemu, 'boot', boot), \
                mock.patch.object(programs.kernel, 'upstreams',
                                  return_value=[]), \
                mock.patch.object(programs.stap, 'prepare', prepare), \
                mock.patch.dict('os.environ', {'KP_CLIENTS': '/cache/x'}):
            return programs.run(self.built, list(names))

    def test_what_does_not_compile_is_skipped_and_not_run(self):
        found, wrong = self.run_cases('perf/a', 'stap/a', 'stap/b')
        self.assertEqual((found, wrong), ({'stap/a': programs.Outcome(
            'skip', 'it does not compile: error: x')}, []))
        self.assertIn('CASES="perf/a stap/b"', self.jobs[0])
        self.assertTrue([one for one in self.extra if one.startswith(
            f'local,id=stap,path={env.WORK}/scripts,')
            and one.endswith('readonly=on')])

    def test_where_none_compiles_nothing_is_booted(self):
        found, wrong = self.run_cases('stap/a')
        self.assertEqual((list(found), wrong, self.jobs), (['stap/a'], [], []))


class Files(support.Case):
    def test_each_case_has_a_script_that_it_loads_and_says_what_it_is(self):
        cases = {path.stem: path for path in stap.FOLDER.glob('*.sh')}
        scripts = {path.stem: path for path in stap.FOLDER.glob('*.stp')}
        self.assertTrue(cases)
        self.assertEqual(set(cases), set(scripts))
        for name, path in cases.items():
            self.assertEqual(
                re.findall(r'staprun /\S*', path.read_text()),
                [f'staprun /stap/stap_{name}.ko'])
            lines = scripts[name].read_text().splitlines()
            self.assertIn('SPDX-License-Identifier: GPL-2.0', lines[0])
            self.assertTrue([line for line in lines[1:5] if line.startswith(
                '# ') and not heads.LINE.match(line)], name)

    def test_the_middle_of_a_function_as_an_offset_and_as_an_address(self):
        lines = ''.join(f'ffffffff8100{at:04x}:\t90\n' for at in range(20))
        tool = self.write('work/bin/objdump',
                          f'#!/bin/sh\necho "$3" >&2\ncat <<E\n{lines}E\n')
        tool.chmod(0o755)
        for words, told in (([], '0xa'), (['/x/vmlinux'],
                                          '0xffffffff8100000a')):
            done = subprocess.run(
                [sys.executable, stap.FOLDER.parent / 'inside.py', 'f', *words],
                capture_output=True, text=True, check=True,
                env={**os.environ,
                     'PATH': f'{tool.parent}:{os.environ["PATH"]}'})
            self.assertEqual(done.stdout.strip(), told)
