# SPDX-License-Identifier: GPL-2.0
"""The checks themselves: which files they look at, and that none vanishes."""

import types
from unittest import mock

import check
import checkkernel
import cli
import complaints
import series
from ktap import Result
from tests import support


class Clippy(support.Case):
    COMMAND = ('savedcmd_rust/kernel.o :=  OBJTREE=/o rustc -Dx '
               '--emit=dep-info=rust/.kernel.o.d --emit=obj=rust/kernel.o '
               '--out-dir ./rust /tree/rust/kernel/lib.rs ; objtool x\n')
    OURS = ('warning: this could be shorter\n  --> /tree/rust/kernel/kprobes.rs:3:1\n')

    def setUp(self) -> None:
        super().setUp()
        self.built = types.SimpleNamespace(obj=self.tmp, tree='/tree', arch='arm')
        self.replace((complaints, 'names', lambda: {'rust/kernel/kprobes.rs'}))

    def test_a_crate_of_the_kernel_fails_by_our_files_only(self) -> None:
        for output, exit_status, status, reason in (
                ('', 0, 'pass', ''),
                (self.OURS, 0, 'fail', 'rust/kernel/kprobes.rs:3: warning: '
                 'this could be shorter'),
                (self.OURS.replace('kprobes', 'sync'), 0, 'pass', ''),
                ('error: no such crate\n', 1, 'fail', 'no such crate')):
            with self.subTest(output), mock.patch.object(
                    checkkernel, '_run',
                    return_value=(self.write('log', output), exit_status)) as call:
                self.write('rust/.kernel.o.cmd', self.COMMAND)
                result = checkkernel._clippy_among(self.built, 'c', 'rust/.kernel.o.cmd')
                self.assertEqual((result.name, result.status), ('arm.rust.check-kernel.c', status))
                self.assertIn(reason, result.reason)
                # It is the command of the build, without what follows it.
                words = call.call_args.args[2][2].split()
                self.assertEqual(words[:5], [
                    'OBJTREE=/o', 'clippy-driver', '-Dx',
                    '/tree/rust/kernel/lib.rs', '--emit=metadata'])
                self.assertNotIn('objtool', words)


class Checks(support.Case):
    def test_a_tool_that_fails_is_a_failure(self) -> None:
        self.assertEqual(check._run('x', ['false']).status, 'fail')

    def test_a_check_that_vanished_fails(self) -> None:
        results = [Result(name, 'pass')
                   for name, least in cli.results.required('check').items()
                   for _ in range(least)]
        for missing, status in (None, 0), ('check.layers', 1):
            with mock.patch.object(check, 'run', lambda: [
                    result for result in results if result.name != missing]):
                self.assertEqual(cli.tests('check'), status)
        self.assertIn('FAILED plan.check.layers', self.printed.getvalue())

    def test_folders_with_objects_are_looked_at(self) -> None:
        for members, more in (('', []), ('trampoline.o/\n', ['arch/x86/kprobes'])):
            self.write('arch/x86/kprobes/built-in.a', f'!<thin>\n{members}')
            self.assertEqual(
                checkkernel._objects(types.SimpleNamespace(obj=self.tmp)),
                [self.tmp / folder for folder in ['rust/kprobes', *more]])

    def test_checkpatch_may_warn_of_one_bug_only(self) -> None:
        allowed = ['--ignore=AVOID_BUG']
        for lines, options in (
                (('+\tBUG();', '-\tBUG_ON(x);', '+//! BUG() and WARN()',
                  '+ * BUG() traps.', '+    Of => "BUG() traps",'), allowed),
                ((), []), (('+\tBUG();', '+\tBUG();'), []), (('+\tBUG_ON(!stays);',), allowed),
                (('+\tVM_BUG_ON(x);',), []),
                (('+\tBUG();', '+\tif (x) BUG();'), [])):
            with self.subTest(lines):
                mail = self.write('1.patch', 'No BUG() here\n@@ -1 +1 @@\n'
                                  + ''.join(f'{line}\n' for line in lines))
                self.assertEqual(series._ignored(mail), options)
