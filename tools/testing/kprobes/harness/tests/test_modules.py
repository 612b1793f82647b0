# SPDX-License-Identifier: GPL-2.0
"""make module: what the guest says of loading and unloading, and who listens."""

import subprocess
import types
from unittest import mock

import modules
from tests import support

# The guest's own commands, on a machine that has no kernel to spare.
_GUEST = '''
mark() { say "mark: $1"; }
say() { echo "$*"; }
show() { sed 's/^/| /'; }
load() { %s; }
rmmod() { %s; }
sh() { say "sh $*"; }
sleep() { [ $1 = 1 ] || command sleep "$1"; }
KPROBES=.
'''


class Guest(support.Case):
    """A guest's job, and who hears what it says."""

    warned = ()

    def lines_of_job(self, load=':', rmmod=':', script=None):
        """The lines of the job where load and rmmod do this, and SCRIPT."""
        path = script and self.write('run.sh', script)
        job = modules._job(['self'], '', path).replace('/sys/module/self', f'{self.tmp}/loaded')
        job = job.replace('=/tmp/run.', f'={self.tmp}/run.').replace(
            '=/run.sh', f'={self.tmp}/run.sh')
        done = subprocess.run(
            ['sh', '-c', _GUEST % (load, rmmod) + job.replace(
                '<$KPROBES/list', '</dev/null')], text=True, check=True,
            capture_output=True, cwd=self.tmp)
        return done.stdout.splitlines()

    def run_with(self, lines, splats=()):
        for where, name, answer in (
                (modules.kernel, 'external', [self.tmp / 'self.ko']),
                (modules.kernel, 'warned', self.warned),
                (modules.guest, 'initramfs', None),
                (modules.qemu, 'boot', types.SimpleNamespace(
                    lines=lines, splats=splats, log=self.tmp / 'console'))):
            self.replace((where, name, mock.Mock(return_value=answer)))
        return modules.run(None, self.tmp)

    def test_it_comes_and_goes(self) -> None:
        lines = self.lines_of_job(f': >{self.tmp}/loaded', f'rm {self.tmp}/loaded')
        self.assertLessEqual({'loaded self', 'unloaded self'}, set(lines))
        self.assertEqual(lines.count('sh -c :'), 3)
        self.warned = ['warning: unused variable']
        self.assertEqual(self.run_with(lines).lines, lines)
        for text in ('warning: unused variable', f'no run.sh in {self.tmp}: '
                     'while the module is loaded, the guest runs three'):
            self.assertIn(text, self.printed.getvalue())
        # The kernel's own tests do not run.
        self.assertEqual(modules.qemu.boot.call_args.kwargs['cmdline'], 'kunit.enable=0')

    def test_what_is_refused(self) -> None:
        for lines, splats, *words in (
                (self.lines_of_job('echo no; false', 'false', 'echo runs'), (),
                 'self to load', 'refused self: no'),
                (self.lines_of_job(f': >{self.tmp}/loaded', 'echo busy; false'), (),
                 'self to unload', 'stayed self: busy', 'module_exit()'),
                ([], ['BUG: scheduling while atomic: insmod/48/0x2'],
                 'a handler waits')):
            with self.subTest(lines), self.refused(*splats, *words):
                self.run_with(lines, splats)

    def test_why_probes_were_refused(self) -> None:
        with self.refused('`kprobes/refused` has nothing'):
            self.run_with(self.lines_of_job('false'))
        # A file whose size is 0 and which has text, as those of debugfs.
        (self.tmp / 'refused').symlink_to('/proc/self/status')
        lines = self.lines_of_job('false')
        self.assertRegex(lines[lines.index('$ cat kprobes/refused') + 1], r'\| Name:')
        with self.refused('behind "$ cat kprobes/refused"'):
            self.run_with(lines)

    def test_an_example_that_says_something_else_names_its_log(self) -> None:
        self.run_with([])
        self.replace((modules, 'shown', lambda: {'a': ('', ['loaded a'])}))
        result, = modules.examples(self.built_kernel())
        self.assertEqual((result.status, result.log), ('fail', f'{self.tmp}/console'))

    # A run.sh beside the module: it runs, is shown, ends, and is judged.

    def test_a_script_runs_between_and_is_shown(self) -> None:
        lines = self.lines_of_job(
            'echo loads >>did', 'echo unloads >>did',
            'echo runs >>did; echo one; echo; printf "t\\\\wo"')
        self.assertEqual((self.tmp / 'did').read_text(), 'loads\nruns\nunloads\n')
        at = lines.index('$ sh run.sh')
        self.assertEqual(lines[at + 1:at + 5],
                         ['| one', '| ', '| t\\wo',
                          'run.sh ended with status 0'])
        # What it says is no complaint of the kernel.
        self.run_with(lines, ['| WARNING: CPU: 0 PID: 1'])
        with self.refused('a kernel without complaints', 'WARNING: CPU: 0'):
            self.run_with(lines, ['WARNING: CPU: 0 PID: 1'])
        # It may say nothing for as long as it may run.
        self.assertGreater(modules.qemu.boot.call_args.kwargs['silence'], modules.LIMIT)
        self.assertEqual(modules.guest.initramfs.call_args.args[4], {'run.sh': self.tmp / 'run.sh'})

    def test_how_a_script_ends_is_told(self) -> None:
        lines = self.lines_of_job(script='exit 3')
        self.assertIn('unloaded self', lines)
        with self.refused('run.sh to end with status 0', 'run.sh ended with status 3'):
            self.run_with(lines)
        lines.remove('run.sh ended with status 3')
        with self.refused('run.sh to end with status 0', 'no such end'):
            self.run_with(lines)
