# SPDX-License-Identifier: GPL-2.0
"""The checks themselves: which files they look at, and that none vanishes."""

import types
from unittest import mock

import check
import checkkernel
import cli
import complaints
import rethooks
from ktap import Result
from tests import support


class Objects(support.Case):
    """What check-kernel's "text" looks at."""

    def setUp(self) -> None:
        super().setUp()
        self.built = types.SimpleNamespace(obj=self.tmp)

    def folders(self):
        return [str(path.relative_to(self.tmp))
                for path in checkkernel._objects(self.built)]

    def test_an_architecture_without_objects_is_left_out(self) -> None:
        # As LLVM's ar says, and GNU's.
        for nothing in '!<thin>\n', '!<arch>\n':
            self.write('arch/x86/kprobes/built-in.a', nothing)
            self.assertEqual(self.folders(), ['rust/kprobes'])

    def test_an_architecture_with_objects_is_looked_at(self) -> None:
        self.write('arch/x86/kprobes/built-in.a', '!<thin>\ntrampoline.o/\n')
        self.write('arch/x86/kernel/kprobes/built-in.a', '!<thin>\ncore.o/\n')
        self.assertEqual(self.folders(), ['rust/kprobes', 'arch/x86/kprobes'])


class Rethooks(support.Case):
    """Who else uses return hooks."""

    def setUp(self) -> None:
        super().setUp()
        self.told('')
        # So that there is something to be found.
        self.write('kernel/trace/rethook.c', 'void rethook_hook(void) {}\n')

    def told(self, text):
        self.enterContext(mock.patch.object(
            rethooks, '_TOLD', self.write('returns.rst', text)))

    def troubles(self, *symbols):
        return rethooks.troubles(self.tmp, 'x86', set(symbols))

    def test_the_implementation_is_no_user(self) -> None:
        self.write('arch/x86/kernel/rethook.c', 'rethook_hook();\n')
        self.write('arch/x86/kprobes/return.S', 'arch_rethook_trampoline\n')
        self.assertEqual(self.troubles(), [])

    def test_what_only_a_comment_names_is_none(self) -> None:
        self.write('lib/a.c', '/* no rethook_hook() */\n// rethook\nint a;\n')
        self.assertEqual(self.troubles(), [])

    def test_what_is_called_must_be_there(self) -> None:
        self.write('kernel/a.c', 'x = rethook_try_get(y);\n')
        self.told('kernel/a.c')
        self.assertEqual(self.troubles('rethook_try_get'), [])
        self.assertEqual(self.troubles('rethook_hook'),
                         ['kernel/a.c calls rethook_try_get(), which the '
                          'kernel does not have'])

    def test_each_user_is_told_of(self) -> None:
        self.write('arch/x86/include/asm/a.h', 'struct list rethooks;\n')
        trouble, = self.troubles()
        self.assertIn('arch/x86/include/asm/a.h uses return hooks', trouble)
        self.told('arch/x86/include/asm/a.h')
        self.assertEqual(self.troubles(), [])


class Clippy(support.Case):
    """What clippy says of ours in a crate that is the kernel's."""

    COMMAND = ('savedcmd_rust/kernel.o :=  OBJTREE=/o rustc -Dx '
               '--emit=dep-info=rust/.kernel.o.d --emit=obj=rust/kernel.o '
               '--out-dir ./rust /tree/rust/kernel/lib.rs ; objtool x\n')
    OURS = ('warning: this could be shorter\n'
            '  --> /tree/rust/kernel/kprobes.rs:3:1\n')

    def setUp(self) -> None:
        super().setUp()
        self.built = types.SimpleNamespace(obj=self.tmp, tree='/tree')
        self.enterContext(mock.patch.object(
            complaints, 'names', lambda: {'rust/kernel/kprobes.rs'}))

    def asked(self, said='', status=0, saved=COMMAND):
        self.write('rust/.kernel.o.cmd', saved)
        log = self.write('log', said)

        def called(_name, command, **_):
            self.command = command[2]
            return log, status
        with mock.patch.object(checkkernel, '_call', called):
            return checkkernel._clippy_among(self.built, 'c',
                                             'rust/.kernel.o.cmd')

    def test_the_builds_own_command(self) -> None:
        self.assertEqual(self.asked().status, 'pass')
        words = self.command.split()
        self.assertEqual(words[:3],
                         ['OBJTREE=/o', 'clippy-driver', '-Dx'])
        self.assertEqual(words[3:5],
                         ['/tree/rust/kernel/lib.rs', '--emit=metadata'])
        self.assertNotIn('objtool', words)

    def test_a_warning_of_ours_fails(self) -> None:
        found = self.asked(self.OURS)
        self.assertEqual((found.status, found.reason),
                         ('fail', 'rust/kernel/kprobes.rs:3: warning: this '
                          'could be shorter'))

    def test_a_warning_of_theirs_does_not(self) -> None:
        said = self.OURS.replace('kprobes', 'sync')
        self.assertEqual(self.asked(said).status, 'pass')

    def test_a_failure_says_why(self) -> None:
        found = self.asked('error: no such crate\n', 1)
        self.assertEqual(found.status, 'fail')
        self.assertIn('no such crate', found.reason)

    def test_an_unlike_command_is_refused(self) -> None:
        saved = 'rust/kprobes/.rust_kprobes.o.cmd'
        self.write(saved, 'savedcmd_rust/kernel.o := cc x.c\n')
        for found in (checkkernel._clippy(self.built),
                      checkkernel._clippy_among(self.built, 'c', saved)):
            self.assertEqual(found.status, 'fail')
            self.assertIn(f'no rustc in the saved command {saved}',
                          found.reason)

    def test_our_own_crate_warns_of_nothing(self) -> None:
        saved = 'rust/kprobes/.rust_kprobes.o.cmd'
        self.write(saved, self.COMMAND.replace(
            ' -Dx ', f' -Dx @./{checkkernel._CFG} '))
        self.write(checkkernel._CFG, '--cfg=CONFIG_A\n'
                   '--cfg=CONFIG_RUST_KPROBES_KUNIT_TEST\n')
        said = {}

        def called(_name, command, **_):
            word, = (one for one in command[2].split() if one[0] == '@')
            said[word] = (self.tmp / word[1:]).read_text()
            self.assertIn('-Dwarnings', command[2])
            return self.write('log', ''), 0
        with mock.patch.object(checkkernel, '_call', called):
            for tests in True, False:
                found = checkkernel._clippy(self.built, tests=tests)
                self.assertEqual(found.status, 'pass')
        self.assertEqual([text.splitlines()[0] for text in said.values()],
                         ['--cfg=CONFIG_A'] * 2)
        self.assertEqual(['KUNIT' in text for text in said.values()],
                         [True, False])


class Command(support.Case):
    """A check that is a program of its own."""

    def test_only_what_it_says_is_shown(self):
        for script, status, reason in (
                ('echo fine', 'pass', ''), ('exit 3', 'fail', 'exit status 3'),
                ('echo wrong; exit 1', 'fail', 'wrong')):
            found = check._run('x', ['sh', '-c', script, 'a.py'], self.tmp)
            self.assertEqual((found.status, found.reason), (status, reason))


class Width(support.Case):
    """Lines that checkpatch.pl would refuse in a mail."""

    def wide(self, name, text):
        self.enterContext(mock.patch.object(check.env, 'REPO', self.tmp))
        return check._wide([self.write(name, text)])

    def test_a_hundred_columns_are_allowed(self) -> None:
        self.assertEqual(self.wide('a.rs', '/' * 100 + '\n').status, 'pass')

    def test_a_longer_line_is_named(self) -> None:
        found = self.wide('a.rs', 'x\n' + '/' * 101 + '\n')
        self.assertEqual(found.status, 'fail')
        self.assertIn('a.rs:2', found.reason)

    def test_tabs_count_as_columns(self) -> None:
        self.assertEqual(self.wide('a.c', '\t' * 12 + 'twelve\n').status,
                         'fail')

    def test_a_message_is_not_broken(self) -> None:
        self.assertEqual(self.wide('a.c', '\t"' + 'x' * 120 + '",\n').status,
                         'pass')

    def test_other_files_are_their_own_business(self) -> None:
        self.assertEqual(self.wide('a.txt', 'x' * 200).status, 'pass')


class Planned(support.Case):
    def run_check(self, found):
        self.enterContext(mock.patch.object(check, 'run', lambda: found))
        return cli.check_only()

    def results(self):
        return [Result(name, 'pass')
                for name, least in cli.results.required('check').items()
                for _ in range(least)]

    def test_all_checks_ran(self) -> None:
        self.assertEqual(self.run_check(self.results()), 0)

    def test_a_check_that_vanished_fails(self) -> None:
        found = [result for result in self.results()
                 if result.name != 'check.layers']
        self.assertEqual(self.run_check(found), 1)
        self.assertIn('FAILED plan.check.layers', self.printed.getvalue())
