# SPDX-License-Identifier: GPL-2.0
"""What is refused before anything begins, and what is not."""

import os
import subprocess
from unittest import mock

import cli
import env
import toolchain
import variables
from tests import support

_EVERY = ('run', 'test', 'test-all', 'check', 'check-kernel', 'shell', 'bench',
          'bench-quick', 'kernel', 'host-test', 'host-fuzz', 'host-bench',
          'host-miri', 'kunit', 'selftest', 'storm', 'coverage', 'module',
          'apply', 'series', 'docs', 'clean')
_NAMES = ('ARCH', 'IMPL', 'JOBS', 'PIECE', 'SEED', 'ARGS', 'TEST')


class Case(support.Case):
    def setUp(self) -> None:
        super().setUp()
        for name in ('KSRC', 'MODULE'):
            self.enterContext(mock.patch.object(env, name, None))
        self.given()

    def given(self, **values: str) -> None:
        """These variables are set, the others are not."""
        self.enterContext(mock.patch.dict(
            'os.environ', {**{name: '' for name in _NAMES}, **values}))

    def module(self, *files: str) -> None:
        """DIR is a folder with FILES."""
        for name in (*files, 'a.c'):
            self.write(f'module/{name}', 'obj-m := a.o\n')
        self.enterContext(mock.patch.object(
            env, 'MODULE', self.tmp / 'module'))

    def refused_by(self, commands: tuple[str, ...], *words: str) -> None:
        for command in commands:
            with self.refused(*words):
                variables.check(command)


class Values(Case):
    def test_of_each_variable(self) -> None:
        for name, right, wrong, words in (
                ('ARCH', 'x86_64', ('mips',), 'one of x86_64, arm'),
                ('IMPL', 'c', ('foo',), 'one of rust, c'),
                ('JOBS', '1', ('abc', '0', '-1', '1.5', '²'),
                 'a number above 0'),
                ('PIECE', 'c-arm', ('rust-mips',), 'one of ground, '),
                ('SEED', str((1 << 64) - 1), ('x', '-1', str(1 << 64)),
                 'a number below 2^64')):
            for value in wrong:
                self.given(**{name: value})
                self.refused_by(_EVERY, f'{name}= {words}', value)
            self.given(**{name: right})
            variables.check('test-clients')

    def test_a_kernel_tree(self) -> None:
        for path, words in ((self.write('linux', ''), 'the folder of'),
                            (self.tmp, None)):
            self.enterContext(mock.patch.object(env, 'KSRC', path))
            self.refused_by(_EVERY, f'KSRC= {words} a kernel tree' if words
                            else 'KSRC to be a Linux source tree', str(path))

    def test_a_kernel_tree_of_another_version(self) -> None:
        self.write('Makefile', 'VERSION = 7\nPATCHLEVEL = 2\nSUBLEVEL = 8\n')
        self.enterContext(mock.patch.object(env, 'KSRC', self.tmp))
        self.refused_by(_EVERY, 'KSRC to be Linux 7.3', '7.2.8',
                        'use a 7.3 tree')

    def test_a_storm(self) -> None:
        for words, told in (('', (60, False, False)),
                            ('600', (600, False, False)),
                            ('9 piecewise', (9, True, False)),
                            ('piecewise 9', (9, True, False)),
                            ('returns', (60, False, True)),
                            ('returns 7 piecewise', (7, True, True))):
            self.given(ARGS=words)
            self.assertEqual(variables.storm(), told)
            variables.check('storm')
        for words in ('foo', '0', '1 2', '-5', '9 piecewise piecewise',
                      'piecewise foo', 'returns 1 returns'):
            self.given(ARGS=words)
            self.refused_by(('storm',), 'ARGS= seconds above 0', words)


class Module(Case):
    def test_none(self) -> None:
        self.refused_by(('module',), 'DIR= the folder of a module', 'no DIR')
        variables.check('test')
        with mock.patch.object(env, 'MODULE', self.tmp / 'absent'):
            self.refused_by(_EVERY, 'DIR= the folder', 'absent',
                            'existing folder')

    def test_a_folder_without_a_module(self) -> None:
        self.module('hello.c')
        self.refused_by(('module',), 'a Kbuild or Makefile in',
                        'obj-m := name.o')

    def test_its_parameters_are_its_own(self) -> None:
        for name in ('Makefile', 'Kbuild'):
            self.module(name)
            self.given(ARGS='symbol=vfs_read foo')
            variables.check('module')

    def test_one_of_what_is_not_there(self) -> None:
        self.module('Kbuild')
        (self.tmp / 'module/a.c').rename(self.tmp / 'module/b.c')
        self.refused_by(('module',), 'obj-m names a.o', 'there is b.c')


class Commands(Case):
    """What some commands cannot be told."""

    def test_what_has_kernels_of_its_own(self) -> None:
        for given in {'ARCH': 's390x'}, {'IMPL': 'c'}:
            self.given(**given)
            self.refused_by(('test-all', 'series', 'coverage'),
                            'has kernels of its own')

    def test_words_that_nobody_reads(self) -> None:
        self.given(ARGS='600')
        for command in _EVERY:
            if command not in ('storm', 'module'):
                self.refused_by((command,), f'no ARGS: make {command} reads',
                                'ARGS=600', 'leave it out')
        variables.check('storm')

    def test_one_test(self) -> None:
        for test in ('modules.R10_*', 'host.model::addr::tests::reach',
                     'harness.test_ktap.Failing'):
            self.given(TEST=test)
            for command in ('host-test', 'kunit', 'selftest'):
                variables.check(command)
            self.refused_by(('test', 'storm', 'run', 'check'),
                            'no TEST: make', 'make selftest')
        for test in ('a b', 'a,b', "a'", '/'):
            self.given(TEST=test)
            self.refused_by(('kunit',), 'the name of a test', test)

    def test_the_implementation_must_be_there(self) -> None:
        self.given(ARCH='arm')
        self.refused_by(('test', 'kernel', 'kunit', 'selftest', 'storm',
                         'check-kernel'), 'IMPL=c for arm',
                        'no back end of ours yet')
        self.given(ARCH='arm', IMPL='rust')
        self.refused_by(('run', 'shell'), 'IMPL=c for arm', 'IMPL=rust')
        self.given(ARCH='arm', IMPL='c')
        variables.check('test')

    def test_our_own_code_is_not_in_the_other(self) -> None:
        self.given(IMPL='c')
        self.refused_by(('check-kernel', 'docs'), 'IMPL=rust', 'IMPL=c')

    def test_what_is_shown_where_nothing_is_given(self) -> None:
        self.assertEqual(variables.shown('x86_64'), 'rust')
        self.assertEqual(variables.shown('arm'), 'c')
        self.given(IMPL='c')
        self.assertEqual(variables.shown('x86_64'), 'c')

    def test_nothing_begins(self) -> None:
        self.given(IMPL='foo')
        for module, name in ((toolchain, 'require'), (cli, '_turn'),
                             (cli, '_listen')):
            self.enterContext(mock.patch.object(module, name))
        shown = self.enterContext(mock.patch.object(env.Refusal, 'show'))
        self.enterContext(mock.patch('sys.argv', ['kp', 'test']))
        self.assertEqual(cli.main(), 2)
        shown.assert_called_once()
        toolchain.require.assert_not_called()
        cli._turn.assert_not_called()


class Shell(support.Case):
    """What kp refuses before there is a harness."""

    def test_folders_that_cannot_be(self) -> None:
        for command, given, words in (
                ('kernel', {'CACHE': '/proc/none'},
                 ('mkdir failed', 'CACHE=/some/dir')),
                ('kernel', {'KSRC': '/none'},
                 ('KSRC= to name a directory', 'give an existing path')),
                ('selfcheck', {'IMPL': 'rust'}, ('no IMPL', 'IMPL=rust'))):
            done = subprocess.run(
                ['bash', env.KPROBES / 'kp', command], text=True, check=False,
                env={'PATH': os.environ['PATH'], 'CACHE': str(self.tmp / 'x'),
                     **given}, capture_output=True)
            self.assertEqual(done.returncode, 2)
            for word in words:
                self.assertIn(word, done.stderr)


class Paths(support.Case):
    def test_as_on_the_users_machine(self) -> None:
        with mock.patch.dict('os.environ', {
                'KP_WORK': '/work', 'KP_HOST_WORK': '/home/u/c/checkouts/1',
                'KP_CACHE': '/cache', 'KP_HOST_CACHE': '/home/u/c',
                'KP_REPO': '/repo', 'KP_HOST_REPO': '/home/u/kprobes',
                'KP_KSRC': '/ksrc', 'KP_HOST_KSRC': ''}):
            for inside, outside in (
                    ('/work', '/home/u/c/checkouts/1'),
                    ('/work/tree/Makefile',
                     '/home/u/c/checkouts/1/tree/Makefile'),
                    ('/cache/ccache', '/home/u/c/ccache'),
                    ('/repo/README.md', '/home/u/kprobes/README.md'),
                    ('/workshop/x', '/workshop/x'),
                    ('/ksrc/x', '/ksrc/x')):
                self.assertEqual(env.host(inside), outside)
