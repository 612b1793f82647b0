# SPDX-License-Identifier: GPL-2.0
"""The small parts: paths as people see them, times, logs, the initramfs."""

import gzip
import re
import stat
import subprocess
import time
import types
from pathlib import Path
from unittest import mock

import arches
import env
import guest
import host
import kernel
import procs
import progress
import qemu
from tests import support


class Paths(support.Case):
    def test_paths_as_on_the_users_machine(self):
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

    def test_choices(self):
        with mock.patch.dict('os.environ', {'IMPL': 'go', 'JOBS': '-1'}):
            with self.refused('IMPL= one of rust, c', 'go'):
                env.choice('IMPL', env.IMPLS, 'rust')
            with self.refused('JOBS=', '-1'):
                env.jobs()
        with mock.patch.dict('os.environ', {'IMPL': '', 'JOBS': '7'}):
            self.assertEqual(env.choice('IMPL', env.IMPLS, 'rust'), 'rust')
            self.assertEqual(env.jobs(), 7)


class Times(support.Case):
    def test_clock(self):
        self.assertEqual([progress.clock(s) for s in (0, 59.9, 60, 3725)],
                         ['0 s', '59 s', '1:00 min', '62:05 min'])

    def test_remembered(self):
        self.assertIsNone(progress.recall('x'))
        progress.remember('x', 3)
        progress.remember('y', 4)
        self.assertEqual((progress.recall('x'), progress.recall('y')), (3, 4))
        self.write('cache/times.json', '{broken')
        self.assertEqual(progress.recall('x', 'none'), 'none')


class Summary(support.Case):
    """Planned and actual minutes at the end of a run."""

    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(progress, '_done', []))
        self.enterContext(mock.patch.object(progress, '_groups', {}))

    def lines(self, *stages, root=''):
        """The table of STAGES, as {name: the rest of the line}."""
        with mock.patch.dict('os.environ', {'KP_ROOT_SECONDS': root}):
            progress.handed_over()
        for stage in stages:
            progress._count(*stage)
        progress.summary()
        return {line[:36].rstrip(): line[36:].split(maxsplit=2)
                for line in self.printed.getvalue().splitlines() if line}

    def test_the_toolchain_root_counts(self):
        found = self.lines(('kernel x', 12, 600), root='60')
        self.assertEqual(found['toolchain root'], ['2.0', '1.0'])
        self.assertEqual(found['all, one after another'], ['14.0', '11.0'])

    def test_so_does_the_one_of_the_pages(self):
        with mock.patch.dict('os.environ', {'KP_DOCS_SECONDS': '30'}):
            found = self.lines(('docs pages', 1, 30))
        self.assertEqual(found['docs root'], ['1.5', '0.5'])
        # It is no part of what a first run may take.
        self.assertNotIn('set-up, of these', found)

    def test_so_does_the_one_of_real_programs(self):
        with mock.patch.dict('os.environ', {'KP_CLIENTS_SECONDS': '30'}):
            found = self.lines(('boot programs', 1, 30))
        self.assertEqual(found['clients root'], ['1.0', '0.5'])

    def test_no_root_made(self):
        found = self.lines(('kernel x', 12, 600))
        self.assertNotIn('toolchain root', found)
        self.assertNotIn('set-up, of these', found)

    def test_a_piece_over_its_budget_is_told(self):
        found = self.lines(('source', 1, 30), root='121')
        self.assertEqual(found['toolchain root'],
                         ['2.0', '2.0', 'OVER BUDGET'])
        self.assertEqual(found['source'], ['1.0', '0.5'])
        self.assertEqual(found['set-up, of these'], ['5.0', '2.5'])

    def test_the_set_up_has_a_budget_of_its_own(self):
        found = self.lines(('bindgen', 1.5, 90), ('source', 1, 90),
                           ('kernel x', 12, 600), root='121')
        self.assertEqual(found['set-up, of these'],
                         ['5.0', '5.0', 'OVER BUDGET'])

    def test_a_group_has_a_budget_of_its_own(self):
        with progress.group('host', 5):
            progress._count('check', 3, 150)
            progress._count('tests', 3, 151)
            progress._count('crates', 1, 30)
        with progress.group('x86_64', 12):
            progress._count('kernel', 12, 600)
        found = self.lines(('other', 1, 60))
        self.assertEqual(found['host, of these'],
                         ['5.0', '5.0', 'OVER BUDGET'])
        self.assertEqual(found['x86_64, of these'], ['12.0', '10.0'])
        self.assertEqual(found['set-up, of these'], ['5.0', '0.5'])
        self.assertEqual(found['tests'], ['3.0', '2.5'])

    def test_told_once(self):
        self.lines(('kernel x', 12, 600))
        self.printed.truncate(0)
        progress.summary()
        self.assertNotIn('kernel', self.printed.getvalue())

    def test_the_parts_of_the_set_up_fit_its_budget(self):
        planned = {}
        for path in sorted(env.HARNESS.glob('*.py')):
            for name, minutes in re.findall(
                    r"Stage\('(\w+)', (?:planned=)?([\d.]+)\)",
                    path.read_text()):
                planned[name] = float(minutes)
        self.assertEqual(2 + sum(planned[name] for name in progress._SET_UP
                                 if name != 'toolchain root'),
                         progress._SET_UP_BUDGET)


class Estimate(support.Case):
    """How long it is still going to take."""

    def said(self, count, elapsed, expected=None, before=None, **options):
        """What a stage says after COUNT units and ELAPSED seconds."""
        if before:
            progress.remember('stage x', before, progress.durations())
        stage = progress.Stage('x', 1, **options)
        stage.expected, stage.shown = expected, 0
        stage.start = time.monotonic() - elapsed
        self.printed.seek(0)
        self.printed.truncate()
        stage.tick(count=count)
        return self.printed.getvalue().strip()

    def test_the_rate_tells_where_the_amount_is_known(self):
        self.assertEqual(self.said(250, 60, 1000, before=20),
                         '[x] 250/1000 1:00 min, about 3:00 min left')

    def test_nothing_is_told_too_early(self):
        self.assertEqual(self.said(14, 20, 1005, before=32),
                         '[x] 14/1005 20 s')

    def test_the_last_time_tells_where_all_runs_are_alike(self):
        self.assertEqual(self.said(9, 20, before=50.5),
                         '[x] 9 20 s, about 30 s left')
        self.assertEqual(self.said(9, 60, before=50), '[x] 9 1:00 min')

    def test_who_says_nothing_is_heard_of(self):
        self.enterContext(mock.patch.object(progress, 'BEAT', 0.01))
        with progress.Stage('x', 1):
            end = time.monotonic() + 10
            while ('[x] 0 s' not in self.printed.getvalue()
                   and time.monotonic() < end):
                time.sleep(0.01)
        self.assertIn('[x] 0 s\n', self.printed.getvalue())
        silent = self.printed.getvalue()
        time.sleep(0.05)
        self.assertEqual(self.printed.getvalue(), silent)

    def test_the_last_time_is_told_where_all_runs_are_alike(self):
        progress.remember('stage x', 50, progress.durations())
        for varies, hint in ((False, ', last time 50 s'), (True, '')):
            with progress.Stage('x', 1, varies=varies):
                pass
            progress.remember('stage x', 50, progress.durations())
            self.assertIn(f'[x] planned 1 min{hint}\n',
                          self.printed.getvalue())

    def test_durations_are_those_of_one_checkout(self):
        progress.remember('stage x', 50)
        with progress.Stage('x', 1):
            pass
        self.assertEqual(self.printed.getvalue().splitlines()[0],
                         '[x] planned 1 min')
        self.assertEqual(progress.recall('stage x'), 50)
        self.assertLess(progress.recall('stage x', 99, progress.durations()),
                        50)

    def test_builds_are_not_alike(self):
        self.assertEqual(self.said(9, 20, before=50, varies=True),
                         '[x] 9 20 s')
        text = (env.HARNESS / 'kernel.py').read_text()
        for name in ('name', "f'module {name}'"):
            self.assertRegex(text, rf'Stage\({name}, .*varies=True\)')


class BuildLogs(support.Case):
    def test_errors_show_the_repositorys_file(self):
        env.TREE.mkdir()
        with mock.patch.object(env, 'REPO', self.tmp):
            self.write('rust/kprobes/life.rs', '')
            self.assertEqual(
                kernel.own_paths(f'--> {env.TREE}/rust/kprobes/life.rs:3:1'),
                '--> rust/kprobes/life.rs:3:1')
            self.assertEqual(kernel.own_paths(f'{env.TREE}/mm/slub.c:3: error'),
                             f'{env.TREE}/mm/slub.c:3: error')

    def test_the_first_error_is_shown(self):
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

    def test_a_file_that_is_called_error_is_none(self):
        log = self.write('build.log', '\n'.join(
            ['  CC      lib/error-inject.o'] + ['  CC      mm/slub.o'] * 70
            + ["ERROR: modpost: x.ko: symbol 'y' undefined!",
               'make[3]: *** [Makefile:3: all] Error 1']))
        self.assertIn("symbol 'y' undefined!", kernel.complaint(log))

    def test_without_an_error_the_end_is_shown(self):
        log = self.write('build.log', '\n'.join(
            f'line {n}' for n in range(100)))
        self.assertTrue(kernel.complaint(log).endswith('line 99'))
        self.assertNotIn('line 50\n', kernel.complaint(log))


class Warnings(support.Case):
    def test_with_what_belongs_to_them(self):
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


class Console(support.Case):
    def test_lines_are_cleaned(self):
        for raw, text in (
                (b'[    1.234567] ok 1 a\r', 'ok 1 a'),
                (b'[    1.234567]     ok 1 a', '    ok 1 a'),
                (b'[    1.2][   T1]     ok 1 a', '    ok 1 a'),
                (b'[    1.2][    C0] x', 'x'),
                (b'<6>[    1.2] x', 'x'),
                (b'\x1b[2J\x1b[1;1Hx', 'x'),
                (b'\xff', '\ufffd')):
            self.assertEqual(qemu.clean(raw), text)


class Terminal(support.Case):
    """make shell: how each architecture's console meets the terminal."""

    def call(self, arch, **options):
        built = types.SimpleNamespace(machine=arches.of(arch), image='image')
        return qemu.command(built, 'initramfs', **options)

    def test_the_keys_that_leave_work_everywhere(self):
        for arch in env.ARCHES:
            call = qemu.on_terminal(self.call(arch, interactive=True))
            text = ' '.join(call)
            if arch == 's390x':
                self.assertIn('-chardev stdio,id=c0,mux=on,signal=off '
                              '-mon chardev=c0,mode=readline', text)
                self.assertIn('-device sclpconsole,chardev=c0', text)
            else:
                self.assertIn('-serial mon:stdio', text)
        self.assertIn('Ctrl-A x', qemu.LEAVE)
        self.assertIn('Ctrl-A x',
                      (guest.GUEST / 'jobs/shell.sh').read_text())

    def test_a_test_boot_shares_nothing(self):
        for arch in env.ARCHES:
            text = ' '.join(self.call(arch))
            self.assertNotIn('mux=on', text)
            self.assertNotIn('mon', text.replace('c0', ''))


class Initramfs(support.Case):
    def setUp(self):
        super().setUp()
        self.built = types.SimpleNamespace(machine=None, obj=self.tmp)
        self.enterContext(mock.patch.object(
            guest, 'busybox', lambda arch: b'\x7fELF' + b'x' * 5))

    def archive(self, **options):
        target = guest.initramfs(self.built, 'x', 'say hello\n', **options)
        return gzip.decompress(target.read_bytes())

    def listed(self, data):
        done = subprocess.run(['cpio', '-t', '-v'], input=data, check=True,
                              capture_output=True)
        self.assertNotIn(b'cpio: ', done.stderr)
        return {line.split()[-1]: line.split()[0]
                for line in done.stdout.decode().splitlines()}

    def test_what_is_in_it(self):
        module = self.write('deep/in/a-b.ko', 'module')
        listed = self.listed(self.archive(modules=[module],
                                          files={'/etc/x/y': module}))
        self.assertEqual(listed, {
            'dev': 'drwxr-xr-x', 'dev/console': 'crw-------',
            'bin': 'drwxr-xr-x', 'bin/busybox': '-rwxr-xr-x',
            'init': '-rwxr-xr-x', 'lib.sh': '-rw-r--r--',
            'job': '-rw-r--r--', 'modules': 'drwxr-xr-x',
            'modules/a-b.ko': '-rw-r--r--', 'etc': 'drwxr-xr-x',
            'etc/x': 'drwxr-xr-x', 'etc/x/y': '-rwxr-xr-x'})

    def test_contents_come_back(self):
        out = self.tmp / 'out'
        out.mkdir()
        subprocess.run(['cpio', '-i', '--quiet', '-d', 'job', 'lib.sh',
                        'bin/*'], input=self.archive(), check=True, cwd=out)
        self.assertEqual((out / 'job').read_text(), 'say hello\n')
        self.assertEqual((out / 'lib.sh').read_bytes(),
                         (guest.GUEST / 'lib.sh').read_bytes())
        self.assertEqual((out / 'bin/busybox').read_bytes(),
                         b'\x7fELFxxxxx')
        self.assertEqual(
            stat.S_IMODE((out / 'bin/busybox').stat().st_mode), 0o755)

    def test_a_module_that_was_not_built(self):
        self.write('samples/there.ko', '')
        self.assertEqual([p.name for p in guest.shipped(self.built, 'there')],
                         ['there.ko'])
        with self.refused('no absent below', 'fragment'):
            guest.shipped(self.built, 'there', 'absent')


class Programs(support.Case):
    def test_output_and_status(self):
        lines = []
        log = self.tmp / 'deep/log'
        status = procs.run(['sh', '-c', 'echo one; echo two >&2; exit 3'],
                           log, on_line=lines.append)
        self.assertEqual((status, sorted(lines)), (3, ['one', 'two']))
        self.assertIn('\ntwo\n', log.read_text())

    def test_nothing_is_left_when_we_stop(self):
        started = []

        def stop(line):
            started.append(int(line))
            raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            procs.run(['sh', '-c', 'sleep 60 & echo $!; wait'],
                      self.tmp / 'log', on_line=stop)
        for _ in range(200):
            if self.state(started[0]) == 'gone':
                return
            time.sleep(0.01)
        self.fail(f'still there: {self.state(started[0])}')

    def state(self, process):
        # Dead and only waiting for init to notice is gone, too.
        try:
            stat = Path(f'/proc/{process}/stat').read_text()
        except OSError:
            return 'gone'
        letter = stat.rpartition(')')[2].split()[0]
        return 'gone' if letter in 'ZX' else letter


class Unittest(support.Case):
    """How host.py counts these very tests."""

    def test_verdicts(self):
        for line, name, verdict in (
                ('test_a (tests.test_x.C.test_a) ... ok',
                 'tests.test_x.C.test_a', 'ok'),
                ('test_a (tests.test_x.C.test_a) ... FAIL',
                 'tests.test_x.C.test_a', 'FAIL'),
                ("test_a (tests.test_x.C.test_a) ... skipped 'no root'",
                 'tests.test_x.C.test_a', "skipped 'no root'"),
                ('setUpClass (tests.test_x.C) ... ERROR',
                 'tests.test_x.C', 'ERROR')):
            match = host._UNIT.match(line)
            self.assertEqual((match[2], match[3]), (name, verdict))


class Patience(support.Case):
    def test_a_kernel_with_checkers_is_waited_for(self):
        built = kernel.Built('x86_64', 'rust', 'kasan', self.tmp, self.tmp,
                             self.tmp, '7.3')
        self.write('.config', 'CONFIG_KASAN_INLINE=y\n')
        self.assertEqual(qemu.patience(built), 1)
        self.assertEqual(qemu.words_for(built, 'a b'), 'a b')
        self.write('.config', 'CONFIG_KASAN=y\n')
        self.assertEqual(qemu.patience(built), 4)
        self.assertEqual(qemu.words_for(built, 'a b'), 'no5lvl a b')
