# SPDX-License-Identifier: GPL-2.0
"""What is refused before anything begins, and what is not."""

from unittest import mock

import cli
import env
import toolchain
import variables
from tests import support

_EVERY = ('run', 'test', 'test-all', 'check', 'check-kernel', 'shell', 'bench',
          'bench-quick', 'kernel', 'host-test', 'host-fuzz', 'host-bench',
          'host-miri', 'kunit', 'selftest', 'storm', 'coverage', 'module', 'apply',
          'series', 'docs', 'selfcheck', 'plan', 'clean')
_NAMES = ('ARCH', 'IMPL', 'JOBS', 'PIECE', 'SEED', 'ARGS')


class Variables(support.Case):
    def setUp(self):
        super().setUp()
        for name in ('KSRC', 'MODULE'):
            self.enterContext(mock.patch.object(env, name, None))
        self.given()

    def given(self, **variables):
        """These variables are set, the others are not."""
        self.enterContext(mock.patch.dict(
            'os.environ', {**{name: '' for name in _NAMES}, **variables}))

    def module(self, *files):
        """DIR is a folder with FILES."""
        (self.tmp / 'module').mkdir()
        for name in (*files, 'a.c'):
            self.write(f'module/{name}', 'obj-m := a.o\n')
        self.enterContext(mock.patch.object(
            env, 'MODULE', self.tmp / 'module'))

    def refused_by_all(self, *words):
        for command in _EVERY:
            with self.refused(*words):
                variables.check(command)

    def test_arch(self):
        self.given(ARCH='mips')
        self.refused_by_all('ARCH= one of x86_64, arm', 'mips')

    def test_impl(self):
        self.given(IMPL='foo')
        self.refused_by_all('IMPL= one of rust, c', 'foo')

    def test_what_has_kernels_of_its_own(self):
        for given in {'ARCH': 's390x'}, {'IMPL': 'c'}:
            self.given(**given)
            for command in 'test-all', 'selfcheck', 'series', 'coverage':
                with self.refused('has kernels of its own'):
                    variables.check(command)

    def test_jobs(self):
        for wrong in ('abc', '0', '-1', '1.5', '²'):
            self.given(JOBS=wrong)
            self.refused_by_all('JOBS= a number above 0', wrong)
        self.given(JOBS='1')
        variables.check('test')

    def test_piece(self):
        self.given(PIECE='rust-mips')
        self.refused_by_all('PIECE= one of ground, ', 'rust-mips')
        self.given(PIECE='c-arm')
        variables.check('test-all')

    def test_seed(self):
        for wrong in ('x', '-1', str(1 << 64)):
            self.given(SEED=wrong)
            self.refused_by_all('SEED= a number below 2^64', wrong)
        self.given(SEED=str((1 << 64) - 1))
        variables.check('host-fuzz')

    def test_a_kernel_tree_that_is_a_file(self):
        path = self.write('linux', '')
        self.enterContext(mock.patch.object(env, 'KSRC', path))
        self.refused_by_all('KSRC= the folder of a kernel tree', str(path))

    def test_a_kernel_tree_that_is_none(self):
        self.enterContext(mock.patch.object(env, 'KSRC', self.tmp))
        self.refused_by_all('KSRC to be a Linux source tree')

    def test_no_module(self):
        with self.refused('DIR= the folder of a module', 'no DIR'):
            variables.check('module')
        variables.check('test')

    def test_a_module_that_is_not_there(self):
        self.enterContext(mock.patch.object(
            env, 'MODULE', self.tmp / 'absent'))
        self.refused_by_all('DIR= the folder', 'absent', 'existing folder')

    def test_a_folder_without_a_module(self):
        self.module('hello.c')
        with self.refused('a Kbuild or Makefile in', 'obj-m := name.o'):
            variables.check('module')

    def test_a_module(self):
        for name in ('Kbuild', 'Makefile'):
            self.write(f'{name}-module/a.rs', '')
            with mock.patch.object(env, 'MODULE', self.write(
                    f'{name}-module/{name}', 'obj-m := a.o\n').parent):
                variables.check('module')

    def test_a_module_of_what_is_not_there(self):
        self.module('Kbuild')
        (self.tmp / 'module/a.c').rename(self.tmp / 'module/b.c')
        with self.refused('obj-m names a.o', 'there is b.c'):
            variables.check('module')

    def test_a_storm(self):
        for words, found in (('', (60, False, False)),
                             ('600', (600, False, False)),
                             ('piecewise', (60, True, False)),
                             ('9 piecewise', (9, True, False)),
                             ('piecewise 9', (9, True, False)),
                             ('returns', (60, False, True)),
                             ('returns 7 piecewise', (7, True, True))):
            self.given(ARGS=words)
            self.assertEqual(variables.storm(), found)
            variables.check('storm')
        for wrong in ('foo', '0', '1 2', '-5', '9 piecewise piecewise',
                      'piecewise foo', 'returns 1 returns'):
            self.given(ARGS=wrong)
            with self.refused('ARGS= seconds above 0', wrong):
                variables.check('storm')

    def test_words_that_nobody_reads(self):
        self.given(ARGS='600')
        for command in _EVERY:
            if command not in ('storm', 'module'):
                with self.refused(f'no ARGS: make {command} reads none',
                                  'ARGS=600', 'leave it out'):
                    variables.check(command)
        variables.check('storm')

    def test_parameters_of_a_module_are_its_own(self):
        self.module('Kbuild')
        self.given(ARGS='symbol=vfs_read foo')
        variables.check('module')

    def test_the_implementation_must_be_there(self):
        self.given(ARCH='arm')
        for command in ('test', 'kernel', 'kunit', 'selftest', 'storm',
                        'plan', 'check-kernel'):
            with self.refused('IMPL=c for arm', 'no back end of ours yet'):
                variables.check(command)
        self.given(ARCH='arm', IMPL='rust')
        for command in ('run', 'shell'):
            with self.refused('IMPL=c for arm', 'IMPL=rust'):
                variables.check(command)
        self.given(ARCH='arm', IMPL='c')
        variables.check('test')

    def test_our_own_code_is_not_in_the_other(self):
        self.given(IMPL='c')
        with self.refused('IMPL=rust', 'IMPL=c'):
            variables.check('check-kernel')

    def test_what_is_shown_where_nothing_is_said(self):
        self.assertEqual(variables.shown('x86_64'), 'rust')
        self.assertEqual(variables.shown('arm'), 'c')
        self.given(IMPL='c')
        self.assertEqual(variables.shown('x86_64'), 'c')

    def test_nothing_begins(self):
        self.given(IMPL='foo')
        for where, name in ((toolchain, 'require'), (cli, '_turn'),
                            (cli, '_listen')):
            self.enterContext(mock.patch.object(where, name))
        shown = self.enterContext(mock.patch.object(env.Refusal, 'show'))
        self.enterContext(mock.patch('sys.argv', ['kp', 'test']))
        self.assertEqual(cli.main(), 2)
        shown.assert_called_once()
        toolchain.require.assert_not_called()
        cli._turn.assert_not_called()
