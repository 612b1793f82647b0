# SPDX-License-Identifier: GPL-2.0
"""The checks themselves: which files they look at, and that none vanishes."""

import types
from unittest import mock

import check
import checkkernel
import cli
from ktap import Result
from tests import support


class Objects(support.Case):
    """What check-kernel's "text" looks at."""

    def setUp(self):
        super().setUp()
        self.built = types.SimpleNamespace(obj=self.tmp)

    def folders(self):
        return [str(path.relative_to(self.tmp))
                for path in checkkernel._objects(self.built)]

    def test_an_architecture_without_objects_is_left_out(self):
        self.write('arch/x86/kprobes/built-in.a', '!<thin>\n')
        self.assertEqual(self.folders(), ['rust/kprobes'])

    def test_an_architecture_with_objects_is_looked_at(self):
        self.write('arch/x86/kprobes/built-in.a', '!<thin>\ntrampoline.o/\n')
        self.write('arch/x86/kernel/kprobes/built-in.a', '!<thin>\ncore.o/\n')
        self.assertEqual(self.folders(), ['rust/kprobes', 'arch/x86/kprobes'])


class Planned(support.Case):
    def run_check(self, found):
        self.enterContext(mock.patch.object(check, 'run', lambda: found))
        return cli.check_only()

    def names(self):
        return [line for line in (cli.results.PLANS / 'check.txt')
                .read_text().splitlines() if not line.startswith('#')]

    def test_all_checks_ran(self):
        found = [Result(name, 'pass') for name in self.names()]
        self.assertEqual(self.run_check(found), 0)

    def test_a_check_that_vanished_fails(self):
        found = [Result(name, 'pass') for name in self.names()
                 if name != 'check.layers']
        self.assertEqual(self.run_check(found), 1)
        self.assertIn('FAILED plan.check.layers', self.printed.getvalue())
