# SPDX-License-Identifier: GPL-2.0
"""What is refused before anything begins, and what is not."""

import os
import subprocess
from collections.abc import Iterable
from unittest import mock

import env
import variables
from tests import support

_EVERY = ('run', 'test', 'test-all', 'check', 'check-kernel', 'shell', 'bench',
          'bench-quick', 'kernel', 'host-test', 'host-fuzz', 'host-bench',
          'host-miri', 'kunit', 'selftest', 'storm', 'coverage', 'module',
          'apply', 'series', 'docs', 'clean')
_NAMES = ('ARCH', 'IMPL', 'JOBS', 'PIECE', 'SEED', 'ARGS', 'TEST')


class Refused(support.Case):
    def setUp(self) -> None:
        super().setUp()
        self.replace((env, 'KSRC', None), (env, 'MODULE', None))
        self.given()

    def given(self, **variables: str) -> None:
        """These variables are set, the others are not."""
        super().given(**{**dict.fromkeys(_NAMES, ''), **variables})

    def refused_by(self, commands: Iterable[str], *words: str) -> None:
        for command in commands:
            with self.refused(*words):
                variables.check(command)

    def test_values(self) -> None:
        for name, good, bad, words in (
                ('ARCH', 'x86_64', ('mips',), 'one of x86_64, arm'),
                ('IMPL', 'c', ('foo',), 'one of rust, c'),
                ('JOBS', '1', ('abc', '0', '-1', '1.5', '²'),
                 'a number above 0'),
                ('PIECE', 'c-arm', ('rust-mips',), 'one of ground, '),
                ('SEED', str((1 << 64) - 1), ('x', '-1', str(1 << 64)),
                 'a number below 2^64')):
            for value in bad:
                self.given(**{name: value})
                self.refused_by(_EVERY, f'{name}= {words}', value)
            self.given(**{name: good})
            variables.check('test-clients')

    def test_a_kernel_tree(self) -> None:
        for path, *words in (
                (self.tmp, 'KSRC to be a Linux source tree'),
                (self.kernel_tree('old', 2), 'KSRC to be Linux 7.3', '7.2.1', 'use a 7.3 tree')):
            with mock.patch.object(env, 'KSRC', path):
                self.refused_by(_EVERY, *words)

    def test_a_storm(self) -> None:
        self.given(ARGS='9 piecewise')
        self.assertEqual(variables.storm(), (9, True, False))
        variables.check('storm')
        for words in ('foo', '0', '1 2', '-5', '9 piecewise piecewise'):
            self.given(ARGS=words)
            self.refused_by(('storm',), 'ARGS= seconds above 0', words)

    def test_a_module(self) -> None:
        source = self.write('module/a.c', '')
        self.replace((env, 'MODULE', source.parent))
        self.refused_by(('module',), 'a Kbuild or Makefile in', 'obj-m := name.o')
        self.write('module/Kbuild', 'obj-m := a.o\n')
        self.given(ARGS='symbol=vfs_read foo')
        variables.check('module')
        source.rename(source.with_name('b.c'))
        self.refused_by(('module',), 'names a.o', 'a.c or a.rs in')
        for text in ('obj-m := a.o\na-y := b.o\n', 'obj-m := $(A).o\n',
                     'obj-m := a.o\n$(obj)/a.c: b.c\n\tcp b.c $@\n'):
            self.write('module/Kbuild', text)
            variables.check('module')

    def test_what_a_command_does_not_read(self) -> None:
        for given, commands, *words in (
                ({'ARCH': 's390x'}, ('test-all', 'series'), 'has kernels of its own'),
                ({'ARCH': 'ppc64le'}, ('coverage',), 'that has a coverage'),
                ({'IMPL': 'c'}, ('test-all', 'series', 'coverage'),
                 'has kernels of its own'),
                ({'IMPL': 'c'}, ('check-kernel', 'docs'), 'IMPL=rust'),
                ({'ARCH': 'ppc64le', 'IMPL': 'c'}, ('bench', 'bench-quick'),
                 'ARCH=x86_64', 'ARCH=ppc64le', 'targets.S'),
                ({'ARGS': '600'}, {*_EVERY} - {'storm', 'module', 'host-fuzz'},
                 'no ARGS: make', 'ARGS=600', 'leave it out'),
                ({'ARGS': '5x'}, ('host-fuzz',), 'a number of strings', '5x'),
                ({'TEST': 'modules.R10_*'}, ('test', 'storm', 'run', 'check'),
                 'no TEST: make', 'make selftest'),
                *(({'TEST': test}, ('kunit',), 'the name of a test', test)
                  for test in ('a b', 'a,b', "a'", '/'))):
            self.given(**given)
            self.refused_by(commands, *words)
        for test in ('modules.R10_*', 'host.model::addr::tests::reach',
                     'harness.test_ktap.Failing'):
            self.given(TEST=test)
            for command in ('host-test', 'kunit', 'selftest'):
                variables.check(command)

    def test_by_kp_before_there_is_a_harness(self) -> None:
        for command, given, words in (
                ('kernel', {'CACHE': '/proc/none'},
                 ('mkdir failed', 'CACHE=/some/dir')),
                *(('kernel', {name: '/none'},
                   (f'{name}= to name a directory', 'give an existing path'))
                  for name in ('KSRC', 'DIR')),
                ('kernel', {'ARCH': 'mips'}, (f'ARCH= one of {" ".join(env.ARCHES)}\n', 'mips')),
                ('test-clients', {'ARCH': 'ppc64le'},
                 (f'one of {" ".join(env.SUPPORTED)}\n', 'ppc64le')),
                ('run', {'IMPL': 'go'}, ('IMPL= one of rust c', 'go')),
                *((command, {'ARCH': 'ppc64le', 'IMPL': impl},
                   ('IMPL=c for ppc64le', 'IMPL=rust', 'no back end of ours yet'))
                  for command, impl in (
                      *((command, '') for command in (
                          'test', 'kernel', 'kunit', 'selftest', 'storm', 'check-kernel', 'docs')),
                      *((command, 'rust') for command in ('run', 'shell', 'bench')))),
                ('module', {}, ('DIR= the folder of a module', 'no DIR'))):
            done = subprocess.run(
                ['bash', env.KPROBES / 'kp', command], text=True, check=False,
                env={'PATH': os.environ['PATH'], 'CACHE': str(self.tmp / 'x'),
                     **given}, capture_output=True)
            self.assertEqual(done.returncode, 2)
            for word in words:
                self.assertIn(word, done.stderr)
