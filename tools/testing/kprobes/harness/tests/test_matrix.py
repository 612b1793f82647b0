# SPDX-License-Identifier: GPL-2.0
"""The pieces of the matrix: how each is configured, built and counted."""

import os
import re
import subprocess
from unittest import mock

import arches
import env
import fragments
import guests
import kernel
import matrix
import page_listings
import qemu
import results
from ktap import Result
from tests import support


def piece(name):
    """{result: status} of a piece of the matrix."""
    return {result.name: result.status for result in matrix.pieces()[name]()}


class Compiled(support.Case):
    """Random configurations: our objects, and nothing of them is kept."""

    def verdicts(self, log='', called=()):
        """(status, reason) of the two results, where make writes LOG."""
        folder, commands = kernel.folder('x86_64', 'rust', 'random-3'), []

        def output(command):
            commands.append([str(word).rpartition('/')[2] for word in command])
            return '\n'.join(called)

        def compiles(_command, targets, path, _stage):
            self.assertEqual(targets, ['rust/kprobes/', 'arch/x86/kprobes/'])
            for name, head in (('a.o', b'\x7fELF'), ('b.o', b'BC\xc0\xde')):
                made = folder / 'rust/kprobes' / name
                made.parent.mkdir(parents=True, exist_ok=True)
                made.write_bytes(head)
            path.parent.mkdir(exist_ok=True)
            path.write_text(log)
        self.replace((kernel.toolchain, 'ready', mock.Mock()),
                     (kernel.overlay, 'sync', mock.Mock()),
                     (kernel.fragments, 'write', mock.Mock()),
                     (kernel, 'compile_targets', compiles),
                     (kernel.procs, 'output', output))
        compiled = matrix.pieces()['rust-x86_64-random-3']()
        self.assertFalse(folder.exists())
        # What is no machine code becomes it first.
        self.assertEqual([commands[0][0], commands[1][-2:]], ['llc', ['a.o', 'b.machine-code']])
        self.assertEqual([result.name for result in compiled],
                         ['x86_64.rust.random-3.compiles',
                          'x86_64.rust.random-3.calls_no_checker'])
        return [(result.status, result.reason) for result in compiled]

    def test_a_checker_that_is_called_and_a_warning_of_ours_fail(self) -> None:
        for log, called, where, checker in (
                ('', ['memcpy', '__asan_report_load8_noabort',
                      '__sanitizer_cov_stack_depth'], '', ''),
                *(('', [name], '', name) for name in (
                    '__asan_load8_noabort', '__asan_storeN',
                    '__sanitizer_cov_trace_pc', '__tsan_read8',
                    '__msan_metadata_ptr_for_load_8')),
                ('warning: unused\n --> '
                 '/tree/rust/kprobes/../../arch/x86/kprobes/mod.rs:9:4\n', [],
                 'arch/x86/kprobes/mod.rs:9', ''),
                ('rust/kprobes/rust_kprobes.o: warning: objtool: f() falls\n',
                 [], 'rust/kprobes/rust_kprobes.o', ''),
                ('warning: unused\n  --> /tree/rust/kernel/kprobes.rs:3:5\n'
                 'kernel/fork.c:1:1: warning: unused\n', [], '', '')):
            with self.subTest(log=log, called=called):
                self.assertEqual(self.verdicts(log, called), [
                    ('fail', f'warning: {where}') if where else ('pass', ''),
                    ('fail', checker) if checker else ('pass', '')])


class Kunit(support.Case):
    """Kernels that can do no more than their KUnit suites."""

    def test_examples_of_others_do_not_count(self) -> None:
        examples = 'x86_64.rust.rust_doctests_kernel.rust_doctest_kernel_'
        leaves = [Result(f'{examples}{name}', 'pass') for name in ('kprobes_rs_0', 'sync_rs_0')]
        self.replace((matrix.kernel, 'build', self.built_kernel),
                     (matrix.checkkernel, 'run', lambda _: []),
                     (guests, 'kunit_tests', lambda _: leaves),
                     (results, 'vanished', lambda *_: []))
        self.assertEqual(piece('rust-x86_64-api'), {f'{examples}kprobes_rs_0': 'pass'})


class Whole(support.Case):
    """Kernels on which all is run, and a guest that is told what to do."""

    def run_piece(self, name, *lines):
        boot = mock.Mock(return_value=mock.Mock(lines=lines, splats=[], seconds=1))
        self.write('.config', '')
        self.replace(
            (guests, 'modules', lambda _: []),
            (guests.guest, 'initramfs', mock.Mock(return_value=[])),
            (guests.guest, 'shipped', mock.Mock(return_value=[])),
            (matrix.kernel, 'build', self.built_kernel),
            (matrix.checkkernel, 'run', lambda _: []),
            (results, 'required', lambda *_: {}), (qemu, 'boot', boot))
        judged = piece(f'rust-x86_64-{name}')
        return judged, boot.call_args_list[0].kwargs

    def test_the_kernel_must_have_understood_what_it_is_asked_for(self):
        for name, word, line, status in (
                ('fineibt', 'cfi=fineibt', 'SMP alternatives: Using FineIBT CFI', 'pass'),
                ('fineibt', 'cfi=fineibt', 'SMP alternatives: Using kCFI', 'fail'),
                ('calldepth', 'retbleed=force,stuff', 'RETBleed: Mitigation: Stuffing', 'pass')):
            judged, options = self.run_piece(name, line)
            self.assertIn(word, options['cmdline'].split())
            self.assertEqual(judged['x86_64.rust.cmdline'], status)
        # Call depth tracking needs a CPU of Intel.
        self.assertIn('max,vendor=GenuineIntel', options['extra'])


class Pieces(support.Case):
    def test_every_configuration_has_a_piece(self) -> None:
        self.assertEqual(sum('-random-' in name for name in matrix.pieces()), 10)
        # Parts of each kernel, `make bench`, and what an architecture adds.
        others = re.compile('(common|debug|impl-c|impl-rust|bench|random|NAMES)$|.*-(NAMES)$'
                            .replace('NAMES', '|'.join(env.ARCHES)))
        self.assertEqual(
            {path.stem for path in fragments.FOLDER.glob('*.config')
             if not others.match(path.stem)},
            {piece.flavour for arch in map(arches.of, env.ARCHES) for piece in arch.pieces}
            - {'test'} - {f'random-{seed}' for seed in range(1, 11)})

    def test_make_help_names_each_command(self) -> None:
        text = subprocess.run(
            ['make', '-s', '-C', env.REPO, 'help'], text=True, check=True,
            capture_output=True, env={'PATH': os.environ['PATH']}).stdout
        for command in page_listings.targets() - {'help'}:
            self.assertRegex(text, rf'(?m)^ *make {command}\b')
        self.assertIn(f' ARCH={"|".join(env.ARCHES)},', text)

    def test_a_command_that_fails_is_a_failure(self) -> None:
        for status, expected in (0, 'pass'), (2, 'fail'):
            run = mock.Mock(return_value=status)
            self.replace((matrix.cli, 'run', run))
            self.assertEqual(piece('run-s390x'), {'commands.run-s390x': expected})
            run.assert_called_once_with('s390x')


class Examples(support.Case):
    """The modules that README shows."""

    def test_both_say_what_they_must(self) -> None:
        template, hello = (lines for _, lines in matrix.modules.shown().values())
        for lines, statuses in (
                ((['mark: module', *hello], [*template, 'x']),
                 ['pass', 'pass']),
                (([line.replace('hit 48', 'hit 0') for line in hello],
                  template), ['fail', 'pass']),
                ((hello, template[:-1]), ['pass', 'fail'])):
            consoles = {name: matrix.modules.qemu.Console(self.tmp, lines=shown)
                        for name, shown in zip(('hello', 'template'), lines)}
            self.replace(
                (matrix.kernel, 'build', self.built_kernel),
                (matrix.modules, 'run',
                 lambda _, folder, __, consoles=consoles: consoles[folder.name]),
                (matrix.modules, 'alone', lambda _: []))
            ended = piece('examples-x86_64')
            self.assertEqual([ended[name] for name in sorted(ended)], statuses)
