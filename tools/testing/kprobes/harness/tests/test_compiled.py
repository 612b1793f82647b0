# SPDX-License-Identifier: GPL-2.0
"""What make test-clients compiles before the guest boots."""

import re
import subprocess
from types import SimpleNamespace
from unittest import mock

import env
from clients import bpf, common, stap
from tests import support


class Scripts(support.Case):
    """stap is replaced by run_; calls are counted."""

    def setUp(self) -> None:
        super().setUp()
        self.built = SimpleNamespace(name='x86_64-rust-clients',
                                     machine=SimpleNamespace(kernel='s390'),
                                     obj=env.WORK / 'obj', release='7.3.4')
        self.calls, self.log, self.fails = [], '', ''
        self.replace(
            (stap.procs, 'run', self.run_),
            (stap.procs, 'output', lambda command: f'{command[2]}\n'),
            (stap, '_RUNTIME', self.write('runtime/linux/arith.c', '').parents[1]),
            (stap, 'FOLDER', self.tmp / 'clients/stap'))

    def prepare(self, *names):
        """{case: why it has none}, where cases NAMES are to be run."""
        self.calls = []
        self.out, failures = stap.prepare(self.built, names)
        return failures

    def run_(self, command, log, *, cwd, **_):
        self.calls.append([str(word) for word in command])
        log.write_text(f'$ stap with an error: none\n{self.log}')
        name = command[command.index('-m') + 1]
        if name != self.fails:
            (cwd / f'{name}.ko').write_text('')
        return int(name == self.fails)

    def test_a_root_that_was_made_without_it(self) -> None:
        names = ['bpf/a', 'perf/b', 'perf/c', 'stap/one']
        stap.require(names)
        without = self.write('without', 'systemtap\n')
        with mock.patch.object(stap, 'WITHOUT', without):
            stap.require(names[:3])
            with self.refused('systemtap was not to be had', 'make distclean', 'ARGS="bpf perf"'):
                stap.require(names)

    def test_scripts_become_modules_or_say_why_not(self) -> None:
        self.write('clients/stap/one.stp', '# options: --x\n# inside: vfs_read\nprobe begin {}\n')
        self.write('clients/stap/two.stp', 'probe nothing {}\n')
        self.fails = 'stap_two'
        self.log = 'WARNING: x\nsemantic error: no match\nTip: read\n'
        # Nothing of the kernel before stays.
        self.write('work/stap/x86_64-rust-clients/stap_old.ko', '')
        self.assertEqual(
            self.prepare('perf/a', 'stap/one', 'stap/two', 'stap/none'),
            {'stap/two': 'semantic error: no match',
             'stap/none': 'there is no none.stp beside it'})
        self.assertEqual([path.name for path in self.out.glob('*.ko')], ['stap_one.ko'])
        self.assertEqual([len(self.calls), self.calls[0][-1]], [2, 'vfs_read'])
        for words in ('--x', '-a s390'):
            self.assertIn(words, ' '.join(self.calls[0]))


class Files(support.Case):
    def test_the_verdicts_of_bpf_tests_are_leaves(self) -> None:
        script = (common.FOLDER / f'{bpf.CASE}.sh').read_text()
        self.assertIn(f'=@/clients/upstream/{bpf.CHOSEN.name}', script)
        program = re.search(r"^awk '\n(.*?)^' out$", script, re.MULTILINE | re.DOTALL)[1]
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
