# SPDX-License-Identifier: GPL-2.0
"""What is shown of a build: its first error, its warnings, a full disk."""

from unittest import mock

import env
import kernel
from tests import support


class Failing(support.Case):
    """A build that ends early, and says why."""

    def build(self, *lines: str, free: int = 1 << 40) -> None:
        (self.tmp / 'build.log').unlink(missing_ok=True)
        printed = self.write('printed', '\n'.join(lines) + '\n')
        with mock.patch.object(kernel.procs.shutil, 'disk_usage',
                               return_value=mock.Mock(free=free)):
            kernel.compile_targets(
                ['sh', '-c', f'cat {printed}; exit 2'], [],
                self.tmp / 'build.log', mock.Mock(), 'the module')

    def test_the_error_is_in_sight(self) -> None:
        with self.refused('the module to build', 'exit status 2',
                          'mend it and run the same command again',
                          f'whole log: {self.tmp}/build.log'):
            self.build('  CC      mm/slub.o', 'a.c:3:1: error: no_such_thing')
        self.assertIn('\na.c:3:1: error: no_such_thing\n',
                      self.printed.getvalue())
        self.assertNotIn('slub', self.printed.getvalue())

    def test_a_full_disk(self) -> None:
        for lines, free in ((['error: No space left on device'], 1 << 40),
                            (['error: cannot write'], 1 << 20)):
            with self.refused('the disk is full', 'CACHE='):
                self.build(*lines, free=free)


class BuildLogs(support.Case):
    def test_errors_show_the_repositorys_file(self) -> None:
        env.TREE.mkdir()
        with mock.patch.object(env, 'REPO', self.tmp):
            self.write('rust/kprobes/life.rs', '')
            self.assertEqual(
                kernel.own_paths(f'--> {env.TREE}/rust/kprobes/life.rs:3:1'),
                '--> rust/kprobes/life.rs:3:1')
            self.assertEqual(kernel.own_paths(f'{env.TREE}/mm/slub.c:3: error'),
                             f'{env.TREE}/mm/slub.c:3: error')

    def test_the_first_error_is_shown(self) -> None:
        log = self.write('build.log', '\n'.join(
            ['  CC      mm/slub.o'] * 50
            + ['kernel/x.c: In function y:',
               'kernel/x.c:3:1: error: expected ;', '  CC      mm/slab.o',
               'make: *** [Makefile:3: all] Error 2']))
        text = kernel.complaint(log)
        self.assertIn('kernel/x.c:3:1: error: expected ;', text)
        self.assertIn('In function y', text)
        self.assertIn('*** [Makefile', text)
        self.assertNotIn('CC ', text)

    def test_a_file_that_is_called_error_is_none(self) -> None:
        log = self.write('build.log', '\n'.join(
            ['  CC      lib/error-inject.o'] + ['  CC      mm/slub.o'] * 70
            + ["ERROR: modpost: x.ko: symbol 'y' undefined!",
               'make[3]: *** [Makefile:3: all] Error 1']))
        self.assertIn("symbol 'y' undefined!", kernel.complaint(log))

    def test_without_an_error_the_end_is_shown(self) -> None:
        log = self.write('build.log', '\n'.join(
            f'line {n}' for n in range(100)))
        self.assertTrue(kernel.complaint(log).endswith('line 99'))
        self.assertNotIn('line 50\n', kernel.complaint(log))


class Warnings(support.Case):
    def test_with_what_belongs_to_them(self) -> None:
        log = self.write('log', '\n'.join((
            '$ make modules', '  RUSTC [M] hello.o',
            'warning: unused variable: `x`', ' --> /module/hello.rs:3:9',
            '  |', '3 |     let x = 1;', '', 'warning: 1 warning emitted', '',
            "/module/hello.c:2:5: warning: unused variable 'y'",
            '    2 | int y;', '  LD [M]  hello.ko', 'done')))
        self.assertEqual(list(kernel.warned(log)), [
            'warning: unused variable: `x`', ' --> /module/hello.rs:3:9',
            '  |', '3 |     let x = 1;',
            "/module/hello.c:2:5: warning: unused variable 'y'",
            '    2 | int y;'])
