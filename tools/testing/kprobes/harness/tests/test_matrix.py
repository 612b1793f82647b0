# SPDX-License-Identifier: GPL-2.0
"""The pieces of the matrix: how each is configured, built and counted."""

import contextlib
import io
import os
import re
import subprocess
import types
from unittest import mock

import guests
import env
import fragments
import kernel
import matrix
import page_commands
import procs
import qemu
import results
from ktap import Result
from tests import support


class Compilers(support.Case):
    def test_clang_but_for_gcc(self):
        self.enterContext(mock.patch.object(
            kernel.shutil, 'which', lambda _: '/usr/bin/ccache'))
        for flavour in ('test', 'kcfi', 'random-1'):
            words = kernel.make_command('x86_64', 'o', 't', flavour)
            self.assertIn('LLVM=1', words)
            self.assertIn('CC=ccache clang', words)
        for flavour in ('gcc', 'labels'):
            words = kernel.make_command('x86_64', 'o', 't', flavour)
            self.assertNotIn('LLVM=1', words)
            self.assertIn('CC=ccache gcc', words)

    def test_modules_are_compiled_as_their_kernel(self):
        commands = []
        self.enterContext(mock.patch.object(
            kernel.procs, 'run', lambda *_, **__: 0))
        self.enterContext(mock.patch.object(
            kernel, 'compile_targets',
            lambda command, *_: commands.append(command)))
        built = kernel.Built('x86_64', 'rust', 'gcc', self.tmp, self.tmp,
                             self.tmp, '7.3')
        self.compiled(built)
        self.assertNotIn('LLVM=1', commands[0])

    def compiled(self, built):
        """Modules of BUILT in a folder; those that were there before."""
        out, before = self.tmp / 'out', []

        def compiles(*_):
            before.extend(path.name for path in out.glob('*.ko'))
            self.write('out/modules.order', 'a.o\n')
            self.write('out/a.ko', '')
        if not (self.tmp / '.config').exists():
            self.write('.config', '')
        with mock.patch.object(kernel, '_mend', compiles):
            kernel.external(built, self.tmp, out, 'a')
        return before

    def test_modules_of_another_configuration_go(self):
        for name in 'procs.run', 'compile_targets':
            self.enterContext(mock.patch(f'kernel.{name}',
                                         lambda *_, **__: 0))
        built = kernel.Built('x86_64', 'rust', 'test', self.tmp, self.tmp,
                             self.tmp, '7.3')
        self.assertEqual(self.compiled(built), [])
        self.assertEqual(self.compiled(built), ['a.ko'])
        self.write('.config', 'CONFIG_DEBUG_INFO_BTF_MODULES=y\n')
        self.assertEqual(self.compiled(built), [])
        self.assertEqual(self.compiled(built), ['a.ko'])


class Killed(support.Case):
    def setUp(self):
        super().setUp()
        for where, name in ((kernel.toolchain, 'ready'),
                            (kernel.overlay, 'sync')):
            self.enterContext(mock.patch.object(where, name))
        # No further than to what comes before the first call of make.
        self.enterContext(mock.patch.object(
            kernel.fragments, 'write', mock.Mock(
                side_effect=kernel.env.Refusal('a', 'b', 'c'))))

    def test_what_a_killed_build_left_empty_goes(self):
        boot = 'work/build/x86_64-rust-test/arch/x86/boot/'
        empty = self.write(boot + 'voffset.h', '')
        whole = self.write(boot + 'zoffset.h', '#define ZO__end 1\n')
        command = 'work/build/x86_64-rust-test/kernel/.%s.o.cmd'
        half = self.write(command % 'signal', 'deps := $(wildcard inc')
        none = self.write(command % 'fork', '')
        full = self.write(command % 'exit', 'deps := a.h\n')
        with self.refused('a'):
            kernel.build('x86_64', 'rust')
        self.assertFalse(any(one.exists() for one in (empty, half, none)))
        self.assertTrue(whole.exists() and full.exists())

    def test_what_a_killed_build_had_begun_goes(self):
        folder = 'work/build/x86_64-rust-test/rust/'
        for name, made in (('begun.rs', 2000), ('whole.rs', 999)):
            note = self.write(f'{folder}.{name}.cmd', 'savedcmd := x\n')
            path = self.write(folder + name, '')
            os.utime(note, (1000, 1000))
            os.utime(path, (made, made))
        with self.refused('a'):
            kernel.build('x86_64', 'rust')
        left = sorted(one.name for one in note.parent.iterdir())
        self.assertEqual(left,
                         ['.begun.rs.cmd', '.whole.rs.cmd', 'whole.rs'])


class Compiled(support.Case):
    """Random configurations: our objects, and nothing of them is kept."""

    def setUp(self):
        super().setUp()
        for where, name in ((kernel.toolchain, 'ready'),
                            (kernel.overlay, 'sync'),
                            (kernel.fragments, 'write')):
            self.enterContext(mock.patch.object(where, name))
        self.called, self.said, self.run = [], '', []
        self.enterContext(mock.patch.object(
            kernel.procs, 'output', self.output))
        self.enterContext(mock.patch.object(
            kernel, 'compile_targets', self.compile))

    def compile(self, _command, targets, log, _stage):
        self.targets = targets
        for name, head in (('a.o', b'\x7fELF'), ('b.o', b'BC\xc0\xde')):
            path = kernel.folder('x86_64', 'rust', 'random-3') \
                / 'rust/kprobes' / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(head)
        log.parent.mkdir(exist_ok=True)
        log.write_text(self.said)

    def output(self, command):
        self.run.append([str(word).rpartition('/')[2] for word in command])
        return '\n'.join(self.called)

    def test_what_is_no_machine_code_becomes_it_first(self):
        matrix.pieces()['rust-x86_64-random-3']()
        self.assertEqual(
            [self.run[0][0], self.run[0][-2:], self.run[1][-2:]],
            ['llc', ['b.machine-code', 'b.o'], ['a.o', 'b.machine-code']])

    def test_our_folders_and_no_link(self):
        found = matrix.pieces()['rust-x86_64-random-3']()
        self.assertEqual(self.targets, ['rust/kprobes/', 'arch/x86/kprobes/'])
        self.assertEqual([(one.name, one.status) for one in found],
                         [('x86_64.rust.random-3.compiles', 'pass'),
                          ('x86_64.rust.random-3.calls_no_checker', 'pass')])
        self.assertFalse(
            kernel.folder('x86_64', 'rust', 'random-3').exists())

    def test_a_checker_that_is_called_fails(self):
        self.called = ['memcpy', '__asan_report_load8_noabort',
                       '__sanitizer_cov_stack_depth']
        self.assertEqual(self.verdict(), ('pass', ''))
        for one in ('__asan_load8_noabort', '__asan_storeN',
                    '__sanitizer_cov_trace_pc', '__tsan_read8',
                    '__msan_metadata_ptr_for_load_8'):
            self.called = [one]
            self.assertEqual(self.verdict(), ('fail', one))

    def test_a_warning_of_ours_fails(self):
        for said, where in (
                ('warning: unused import\n'
                 '  --> /tree/rust/kprobes/life.rs:3:5\n',
                 'rust/kprobes/life.rs:3'),
                ('warning: function `f` is never used\n --> '
                 '/tree/rust/kprobes/../../arch/x86/kprobes/mod.rs:9:4\n',
                 'arch/x86/kprobes/mod.rs:9'),
                ('/tree/rust/kprobes/abi.c:7:5: warning: unused [-W]\n',
                 'rust/kprobes/abi.c:7'),
                ('rust/kprobes/rust_kprobes.o: warning: objtool: f() falls\n',
                 'rust/kprobes/rust_kprobes.o')):
            self.said = said
            self.assertEqual(self.verdict(0), ('fail', 'warning: ' + where))

    def test_a_warning_of_others_is_theirs(self):
        self.said = ('warning: unused\n  --> /tree/rust/kernel/kprobes.rs'
                     ':3:5\nkernel/fork.c:1:1: warning: unused\n')
        self.assertEqual(self.verdict(0), ('pass', ''))

    def verdict(self, number=1):
        found = matrix.pieces()['rust-x86_64-random-3']()[number]
        return found.status, found.reason

    def test_what_does_not_compile_stays_to_be_looked_at(self):
        self.enterContext(mock.patch.object(
            kernel, 'compile_targets', mock.Mock(
                side_effect=kernel.env.Refusal('a', 'b', 'c'))))
        with self.refused('a'):
            kernel.compile_ours('x86_64', 'random-3')
        self.assertTrue(kernel.folder('x86_64', 'rust', 'random-3').exists())


class Kunit(support.Case):
    """Kernels that can do no more than their KUnit suites."""

    def setUp(self):
        super().setUp()
        self.built = types.SimpleNamespace(arch='x86_64', impl='rust',
                                           flavour='nomodules',
                                           name='x86_64-rust-nomodules')
        self.enterContext(mock.patch.object(guests.guest, 'initramfs'))
        self.enterContext(mock.patch.object(
            matrix.kernel, 'build', lambda *_: self.built))
        self.enterContext(mock.patch.object(
            matrix.checkkernel, 'run',
            lambda _: [Result('check-kernel.text', 'pass')]))
        self.enterContext(mock.patch.object(results, 'PLANS', self.tmp))
        self.write('suites.txt', '[kunit]\n*: suite no-splat\n'
                   '*-clients: rust_doctests_kernel\n'
                   '[guest]\n*: modules\n[storm]\n*: storm\n'
                   '[check-kernel]\n*: check-kernel.text\n')

    def boot(self, lines, splats=(), died=None,
             piece='rust-x86_64-nomodules'):
        console = mock.Mock(lines=lines, splats=list(splats), seconds=1)
        self.enterContext(mock.patch.object(
            qemu, 'boot', mock.Mock(return_value=console, side_effect=died)))
        return {one.name: one.status for one in matrix.pieces()[piece]()}

    def test_its_suites_are_asked_for_and_nothing_else(self):
        found = self.boot(['KTAP version 1', '# Subtest: suite', 'ok 1 case'])
        self.assertEqual(found, {'check-kernel.text': 'pass',
                                 'x86_64.rust.suite.case': 'pass',
                                 'x86_64.rust.no-splat': 'pass'})

    def test_a_suite_that_did_not_run_fails(self):
        found = self.boot([])
        self.assertEqual(found['plan.x86_64.rust.suite'], 'fail')
        self.assertNotIn('plan.x86_64.rust.modules', found)

    def test_a_warning_fails(self):
        found = self.boot(['KTAP version 1', '# Subtest: suite', 'ok 1 case'],
                          ['WARNING: x'])
        self.assertEqual(found['x86_64.rust.no-splat'], 'fail')

    def test_of_the_examples_those_of_others_do_not_count(self):
        lines = ['KTAP version 1', '# Subtest: suite', 'ok 1 case',
                 'KTAP version 1', '# Subtest: rust_doctests_kernel',
                 'ok 1 rust_doctest_kernel_kprobes_rs_0',
                 'not ok 2 rust_doctest_kernel_sync_rs_0']
        self.assertEqual(self.boot(lines, piece='rust-x86_64-api'), {
            'check-kernel.text': 'pass', 'x86_64.rust.no-splat': 'pass',
            'x86_64.rust.suite.case': 'pass',
            'x86_64.rust.rust_doctests_kernel.'
            'rust_doctest_kernel_kprobes_rs_0': 'pass'})
        self.assertIn('plan.x86_64.rust.rust_doctests_kernel',
                      self.boot(lines[:3], piece='rust-x86_64-api'))

    def test_a_dead_guest_fails(self):
        with contextlib.redirect_stderr(io.StringIO()):
            found = self.boot([], died=qemu.Died('a', 'it died', 'c', []))
        self.assertEqual(found, {'check-kernel.text': 'pass',
                                 'x86_64.rust.boot': 'fail'})


class Whole(support.Case):
    """Kernels on which all is run, and a guest that is told what to do."""

    def run_piece(self, name, lines):
        self.boot = mock.Mock(return_value=mock.Mock(
            lines=lines, splats=[], seconds=1))
        self.flavours = []
        self.write('.config', '')
        self.enterContext(mock.patch.object(guests, 'modules', lambda _: []))
        for where, what in ((guests.guest, 'initramfs'), (guests.guest, 'shipped')):
            self.enterContext(mock.patch.object(where, what,
                                                return_value=[]))
        for where, what, put in (
                (matrix.kernel, 'build', self.built),
                (matrix.checkkernel, 'run', lambda _: []),
                (results, 'required', lambda *_: {}),
                (qemu, 'boot', self.boot)):
            self.enterContext(mock.patch.object(where, what, put))
        return {one.name: one.status for one in matrix.pieces()[name]()}

    def built(self, arch, impl, flavour):
        self.flavours.append(flavour)
        return kernel.Built(arch, impl, flavour, self.tmp, self.tmp,
                            self.tmp / 'image', '7.3')


class CommandLine(Whole):
    """The kernel must have understood what it is asked for."""

    def verdict(self, said):
        found = self.run_piece('rust-x86_64-fineibt', [said])
        tests = self.boot.call_args_list[0]
        self.assertIn('cfi=fineibt', tests.kwargs['cmdline'].split())
        return found['x86_64.rust.cmdline']

    def test_call_depth_tracking_needs_a_cpu(self):
        found = self.run_piece('rust-x86_64-calldepth',
                               ['RETBleed: Mitigation: Stuffing'])
        self.assertEqual(self.flavours, ['labels'])
        tests = self.boot.call_args_list[0]
        self.assertIn('retbleed=force,stuff', tests.kwargs['cmdline'].split())
        self.assertIn('max,vendor=GenuineIntel', tests.kwargs['extra'])
        self.assertEqual(found['x86_64.rust.cmdline'], 'pass')

    def test_it_says_so(self):
        self.assertEqual(self.verdict('SMP alternatives: Using FineIBT CFI'),
                         'pass')

    def test_it_says_something_else(self):
        self.assertEqual(self.verdict('SMP alternatives: Using kCFI'), 'fail')


class Listed(Whole):
    """What one kernel cannot run, as a list says, is skipped there only."""

    def verdicts(self, status, piece='rt'):
        self.enterContext(mock.patch.object(results, 'PLANS', self.tmp))
        self.write('known-rust-rt.txt', 'rust_odd.case why\n')
        self.write('suites.txt', '')
        found = self.run_piece(f'rust-x86_64-{piece}', [
            'KTAP version 1', '# Subtest: rust_odd', f'{status} 1 case'])
        return found['x86_64.rust.rust_odd.case']

    def test_what_is_listed_is_skipped(self):
        self.assertEqual(self.verdicts('not ok'), 'skip')

    def test_what_is_listed_and_passes_fails(self):
        self.assertEqual(self.verdicts('ok'), 'fail')

    def test_other_kernels_run_it(self):
        self.assertEqual(self.verdicts('ok', piece='lazy'), 'pass')


class Entry(support.Case):
    """Where a probe on a function is: behind what IBT wants to find there."""

    def test_of_marked_functions_and_plain_ones(self):
        for config, entry in (('CONFIG_X86_KERNEL_IBT=y\n', 4),
                              ('# CONFIG_X86_KERNEL_IBT is not set\n', 0)):
            self.write('.config', config)
            built = kernel.Built('x86_64', 'rust', 'test', self.tmp,
                                 self.tmp, self.tmp / 'image', '7.3')
            self.assertEqual(built.entry, entry)


class Suites(support.Case):
    def test_what_the_guest_itself_tests_is_no_suite_of_the_kernel(self):
        jobs = env.KPROBES / 'guest/jobs'
        names = {name for path in jobs.glob('*.sh') for name in re.findall(
            r'^\s*suite (\w+)$', path.read_text(), re.M)}
        self.assertIn('graph', names)
        self.assertEqual([name for name in sorted(names)
                          if results.of_kunit(f'x86_64.rust.{name}.a')], [])


class Pieces(support.Case):
    def test_every_configuration_has_a_piece(self):
        names = set(matrix.pieces())
        for flavour in fragments.FLAVOURS:
            # Those of `make test` and `make bench`.
            if flavour not in ('test', 'bench'):
                self.assertIn({'thumb2': 'c-arm-thumb2',
                               'clients': 'clients'}.get(
                                   flavour, f'rust-x86_64-{flavour}'), names)
        self.assertEqual(sum('-random-' in name for name in names), 10)

    def test_each_command_of_the_documents_has_one(self):
        tests = {path.name for path in (
            env.KPROBES / 'harness/tests').glob('test_*.py')}
        self.assertEqual([one for one in matrix.RUN_BY.values()
                          if one not in {*matrix.pieces(), *tests, 'itself'}], [])
        # A kernel's make M= is in the documents, too.
        self.assertEqual(set(matrix.RUN_BY),
                         page_commands.targets() | {'modules'})

    def test_make_help_names_each_command(self):
        text = subprocess.run(
            ['make', '-s', '-C', env.REPO, 'help'], text=True, check=True,
            capture_output=True, env={'PATH': os.environ['PATH']}).stdout
        self.assertEqual([one for one in page_commands.targets() - {'help'}
                          if not re.search(rf'^ *make {one}\b', text, re.M)], [])

    def test_a_command_that_fails_is_a_failure(self):
        for status, wanted in (0, 'pass'), (2, 'fail'):
            with mock.patch.object(matrix.cli, 'run', lambda: status):
                one, = matrix.pieces()['run-x86_64']()
            self.assertEqual((one.name, one.status), ('commands.run', wanted))

    def test_thumb_is_arm_with_one_line_more(self):
        arm, thumb = (fragments.settings(fragments.chosen('arm', 'c', flavour))
                      for flavour in ('test', 'thumb2'))
        self.assertEqual(set(thumb) - set(arm), {'CONFIG_THUMB2_KERNEL'})

    def test_each_mail_of_the_series_counts(self):
        self.enterContext(mock.patch.object(
            matrix.series, 'mails', lambda: [self.tmp / '0001-a.patch',
                                             self.tmp / '0002-b.patch']))
        self.assertEqual(
            [(one.name, one.status) for one in matrix.pieces()['series']()],
            [('series.0001-a', 'pass'), ('series.0002-b', 'pass')])


class Ours(support.Case):
    """Our test modules come by the repository's own Kbuild."""

    def test_what_is_copied_and_asked_for(self):
        calls, out = [], env.WORK / 'modules/arm-c-test'

        def run(command, _log, **_):
            calls.append([str(word) for word in command])
            self.write('work/modules/arm-c-test/modules.order',
                       'tools/testing/kprobes/clauses/a.o\n')
            return 0
        self.enterContext(mock.patch.object(procs, 'run', run))
        built = kernel.Built('arm', 'c', 'test', self.tmp, self.tmp, self.tmp,
                             '7.3')
        self.write('.config', '')
        self.assertEqual(kernel.ours(built, 'clauses', 'storm'), [
            out / 'tools/testing/kprobes/clauses/a.ko'])
        copied, made = calls
        self.assertEqual(copied[3:], [
            '--relative', f'{env.REPO}/./Kbuild',
            f'{env.REPO}/./tools/testing/kprobes/clauses',
            f'{env.REPO}/./tools/testing/kprobes/storm', f'{out}/'])
        self.assertIn(f'M={out}', made)
        self.assertIn('KPROBES_MODULES=clauses storm', made)

    def test_the_kbuild_names_all_there_are(self):
        text = (env.REPO / 'Kbuild').read_text()
        named = set(re.search(r'^KPROBES_MODULES \?= (.*)$', text, re.M)[1]
                    .replace('$(if $(CONFIG_X86_64),', '').rstrip(')')
                    .split())
        there = {path.parent.name for path in env.KPROBES.glob('*/Kbuild')}
        self.assertEqual(named, there)


class State(support.Case):
    """What makes a result one of these files and these tools."""

    def state(self):
        for where, name, answer in ((matrix.source, 'identity', 'a tree'),
                                    (matrix.check, 'tracked', [])):
            self.enterContext(mock.patch.object(
                where, name, lambda answer=answer: answer))
        return matrix.state()

    def test_another_tool_is_another_state(self):
        program = self.write('bin/rustc', '#!/bin/sh\necho rustc 1\n')
        program.chmod(0o755)
        self.enterContext(mock.patch.dict('os.environ', {
            'PATH': f'{self.tmp}/bin:/usr/bin:/bin'}))
        seen = {self.state()}
        self.assertEqual({self.state()}, seen)
        program.write_text('#!/bin/sh\necho rustc 2\n')
        seen.add(self.state())
        # The same that the root would have.
        self.write('bin/bindgen', f'#!/bin/sh\necho bindgen '
                   f'{matrix.toolchain.BINDGEN}\n').chmod(0o755)
        self.enterContext(mock.patch.object(env, 'HOST_TOOLS', True))
        seen.add(self.state())
        self.write('bin/qemu-system-s390x', '#!/bin/sh\necho 11\n').chmod(
            0o755)
        seen.add(self.state())
        self.assertEqual(len(seen), 4)


class Examples(support.Case):
    """The modules that README shows."""

    SAID = {'hello': ['mark: module', '$ insmod hello.ko symbol=vfs_read',
                      'hello: loading out-of-tree module', 'loaded hello',
                      '$ cat kprobes/list',
                      '| ffffffff81058640  k  vfs_read+0x0    [FTRACE]',
                      'hello: vfs_read was hit 3 times', 'unloaded hello'],
            'template': ['$ insmod template.ko', 'loaded template', 'x',
                         '$ sh run.sh',
                         'template: do_exit(0x300)',
                         '| three shells have ended',
                         'run.sh ended with status 0',
                         'template: 9 calls, 0 missed', 'unloaded template']}

    def verdicts(self, said):
        built = mock.Mock(arch='x86_64', impl='rust')
        self.enterContext(mock.patch.object(
            matrix.kernel, 'build', lambda *_: built))
        self.enterContext(mock.patch.object(
            matrix.modules, 'run',
            lambda _, folder, parameters: self.called.append(parameters)
            or said.get(folder.name, [])))
        self.enterContext(mock.patch.object(
            matrix.modules, 'alone', lambda _: []))
        self.called = []
        return [one.status
                for one in matrix.pieces()['examples-x86_64']()]

    def test_both_say_what_they_must(self):
        self.assertEqual(self.verdicts(self.SAID), ['pass', 'pass'])
        self.assertEqual(self.called, ['symbol=vfs_read', ''])

    def test_each_line_of_readme_is_needed_and_in_its_place(self):
        _, shown = matrix.modules.shown()
        self.assertEqual([len(shown), shown[0], shown[-1]],
                         [6, self.SAID['hello'][1], 'unloaded hello'])
        self.assertEqual(matrix.modules.missing(shown, shown), '')
        for place, line in enumerate(shown):
            rest = shown[:place] + shown[place + 1:]
            self.assertEqual(matrix.modules.missing(shown, rest), line)
            self.assertTrue(matrix.modules.missing(
                shown, [*rest[:place - 1], line, *rest[place - 1:]]
                if place else [*rest, line]), line)

    def test_one_that_was_not_hit(self):
        self.assertEqual(self.verdicts({**self.SAID, 'hello': [
            line.replace('hit 3', 'hit 0') for line in self.SAID['hello']]}),
            ['fail', 'pass'])

    def test_one_that_does_not_leave(self):
        self.assertEqual(self.verdicts(
            {**self.SAID, 'template': self.SAID['template'][:-1]}),
            ['pass', 'fail'])

    def test_each_folder_is_built_alone(self):
        def external(_built, folder, out, _name):
            self.assertEqual(out.parent, env.WORK / 'modules')
            if folder.name == 'storm':
                raise env.Refusal('a module', 'none', 'mend it')
        self.enterContext(mock.patch.object(
            matrix.modules.kernel, 'external', external))
        with contextlib.redirect_stderr(io.StringIO()), \
                contextlib.redirect_stdout(io.StringIO()):
            found = matrix.modules.alone(mock.Mock(arch='x86_64', impl='rust'))
        self.assertEqual({one.name.rsplit('.', 1)[1]: one.status for one in found}, {
            'bench': 'pass', 'clauses': 'pass', 'coverage': 'pass',
            'forms': 'pass', 'storm': 'fail'})
