# SPDX-License-Identifier: GPL-2.0
"""Real programs with C's kprobes and with ours: what is judged, and what told."""

import contextlib
import io
from types import SimpleNamespace
from unittest import mock

import env
import heads
import programs
import qemu
from programs import Outcome
from tests import support


def passed(out='', seconds=1):
    return Outcome('pass', '', seconds, out)


class Comparing(support.Case):
    def judged(self, with_c, with_rust, differs=None):
        found = programs.compare('perf/a', with_c, with_rust, differs)
        self.assertEqual(found.name, 'clients.perf.a')
        return found.status, found.reason

    def test_both_that_print_the_same(self):
        self.assertEqual(self.judged(passed('1\n'), passed('1\n')),
                         ('pass', ''))

    def test_another_output_fails_and_is_shown(self):
        self.assertEqual(
            self.judged(passed('1\n2\n'), passed('1\n')),
            ('fail', 'another output than with C: line 2: "2" with C, '
             '"(its end)" with ours'))
        self.assertEqual(
            self.judged(passed('1\n'), passed('1')),
            ('fail', 'another output than with C: only in how lines end'))

    def test_another_output_may_be_explained(self):
        self.assertEqual(self.judged(passed('1'), passed('2'), 'why')[0],
                         'pass')

    def test_what_passes_with_c_alone_fails(self):
        for status in ('fail', 'skip'):
            self.assertEqual(self.judged(passed(), Outcome(status, 'no')),
                             ('fail', 'it passes with C: no'))

    def test_what_passes_with_ours_alone_passes(self):
        for status in ('fail', 'skip'):
            self.assertEqual(self.judged(Outcome(status, 'no'),
                                         passed('1'))[0], 'pass')

    def test_what_neither_does_is_not_applicable(self):
        for one in ('fail', 'skip'):
            for two in ('fail', 'skip'):
                self.assertEqual(
                    self.judged(Outcome(one, 'no file'), Outcome(two, 'x')),
                    ('skip', 'not applicable: no file'))

    def test_what_was_not_run_fails(self):
        self.assertEqual(self.judged(passed(), None),
                         ('fail', 'it was not run with ours'))
        self.assertEqual(self.judged(None, None)[0], 'fail')
        self.assertEqual(self.judged(None, Outcome('fail', 'x'))[0], 'fail')
        self.assertEqual(self.judged(None, Outcome('skip', 'x'))[0], 'fail')


class Running(support.Case):
    def setUp(self):
        super().setUp()
        self.folder = env.WORK / 'cases'
        self.patch(programs, 'FOLDER', self.folder)
        self.patch(programs, '_KEPT', env.WORK / 'kept')
        for name in ('perf/a', 'perf/b', 'upstream/all'):
            self.write(f'work/cases/{name}.sh', '# x\n')
        self.built = SimpleNamespace(
            impl='rust', name='x86_64-rust-clients', arch='x86_64',
            obj=env.WORK / 'obj', tree=env.WORK / 'tree')
        self.write('work/obj/samples/one.ko', 'one')
        patched = self.write('work/modules/patched.ko', 'patched')
        self.patch(programs.kernel, 'upstreams', lambda _, folder:
                   [patched] if 'livepatch' in folder else [])
        self.said, self.outs, self.splats = [], {}, []

    def patch(self, where, name, value):
        patcher = mock.patch.object(where, name, value)
        patcher.start()
        self.addCleanup(patcher.stop)

    def boot(self, _built, _image, *, on_line, extra, **_):
        self.extra = extra
        for name, text in self.outs.items():
            path = env.WORK / f'kept/rust/{name}.out'
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for line in self.said:
            on_line(line)
        return SimpleNamespace(splats=self.splats)

    def run_cases(self, names, boot=None):
        with mock.patch.object(programs.guest, 'initramfs', return_value='i'), \
                mock.patch.object(qemu, 'boot', boot or self.boot), \
                mock.patch.dict('os.environ', {'KP_CLIENTS': '/clients'}), \
                contextlib.redirect_stdout(io.StringIO()), \
                contextlib.redirect_stderr(io.StringIO()):
            return programs.run(self.built, names)

    def test_cases_are_files_by_the_beginning_of_their_names(self):
        self.assertEqual(programs.cases(), ['perf/a', 'perf/b',
                                            'upstream/all'])
        self.assertEqual(programs.cases('perf/b'), ['perf/b'])
        self.assertEqual(programs.cases('up perf/b'), ['perf/b',
                                                       'upstream/all'])
        with self.assertRaisesRegex(env.Refusal, 'perf/a, perf/b.*none'):
            programs.cases('none')

    def test_a_head_ends_at_the_first_command(self):
        path = self.write('work/x.sh', '# S: 1\n# limit: 20\n# trace: text\n'
                          'x=1\n# limit: 30\n')
        self.assertEqual(heads.of(path.read_text()), {'limit': '20'})

    def test_what_the_guest_says_and_what_cases_print(self):
        self.said = ['case: perf/a begins', 'case: perf/a pass 12: ',
                     'case: perf/b fail 3: status 1: no']
        self.outs = {'perf/a': '20 calls\n', 'perf/b': 'x\n'}
        found, wrong = self.run_cases(['perf/a', 'perf/b'])
        self.assertEqual(found, {
            'perf/a': Outcome('pass', '', 12, '20 calls\n'),
            'perf/b': Outcome('fail', 'status 1: no', 3, 'x\n')})
        self.assertEqual(wrong, [])

    def test_parts_of_a_case_are_cases(self):
        self.said = ['case: upstream/all pass 12: ']
        self.outs = {'upstream/all': 'leaf: kprobe/one pass\n'
                     'leaf: kprobe/two skip UNRESOLVED: no symbol\n'}
        found, _ = self.run_cases(['upstream/all'])
        self.assertEqual(found, {
            'upstream/all/kprobe/one': Outcome('pass'),
            'upstream/all/kprobe/two': Outcome('skip',
                                               'UNRESOLVED: no symbol')})

    def test_a_case_with_parts_that_fails_is_one_more(self):
        self.said = ['case: upstream/all fail 12: left behind']
        self.outs = {'upstream/all': 'leaf: kprobe/one pass\n'}
        found, _ = self.run_cases(['upstream/all'])
        self.assertEqual(found['upstream/all/all'].why, 'left behind')

    def test_what_the_kernel_reports_is_wrong(self):
        self.splats = ['BUG: x']
        self.assertEqual(self.run_cases(['perf/a'])[1], ['BUG: x'])

    def test_a_guest_that_dies_tells_what_it_had(self):
        def boot(*words, **options):
            self.boot(*words, **options)
            raise qemu.Died('it', 'the kernel died\nmore', 'look', [])
        self.said = ['case: perf/a pass 1: ']
        found, wrong = self.run_cases(['perf/a', 'perf/b'], boot)
        self.assertEqual((list(found), wrong), (['perf/a'],
                                                ['the kernel died']))

    def test_only_results_can_be_written(self):
        self.run_cases(['perf/a'])
        shares = [one for one in self.extra if one.startswith('local,')]
        writable = [one for one in shares if 'readonly=off' in one]
        self.assertEqual(len(shares), 8)
        self.assertEqual(len(writable), 1)
        self.assertIn('id=results', writable[0])

    def test_modules_are_in_one_folder_and_old_ones_go(self):
        for _ in range(2):
            folder = programs._modules(self.built)
            self.assertEqual(
                sorted(path.name for path in folder.iterdir()),
                ['one.ko', 'patched.ko'])
            self.write(f'work/obj/{folder.name}/gone.ko', '')

    def test_without_a_root_it_is_refused(self):
        with mock.patch.dict('os.environ', {}, clear=True), \
                self.assertRaisesRegex(env.Refusal, 'a Debian root'):
            programs._root()

    def ran(self, impls, found):
        with mock.patch.object(programs.kernel, 'build',
                               lambda _arch, impl, _: impl), \
                mock.patch.object(programs, 'run',
                                  lambda built, _: found[built]), \
                contextlib.redirect_stdout(io.StringIO()) as said:
            every = programs.tests(impls)
        self.table = said.getvalue()
        return {one.name: one.status for one in every}

    def test_both_are_compared_and_the_table_shows_it(self):
        self.write('work/cases/perf/b.sh', '# differs: C counts late\n')
        ran = {'perf/a': passed('1'), 'perf/b': passed('1'),
               'upstream/all/x': passed()}
        found = self.ran(['c', 'rust'], {
            'c': (ran, []),
            'rust': ({**ran, 'perf/b': passed('2')}, ['BUG: x'])})
        self.assertEqual(found, {
            'c.clients.boot': 'pass', 'rust.clients.boot': 'fail',
            'clients.perf.a': 'pass', 'clients.perf.b': 'pass',
            'clients.upstream.all.x': 'pass'})
        self.assertRegex(self.table, r'perf +a +passed +1 s passed +1 s +same')
        self.assertRegex(self.table, r'perf +b +.*C counts late')
        self.assertIn(self.table.split('\nwhat each')[0].strip(),
                      (env.WORK / 'kept/table.txt').read_text())

    def test_figures_follow_the_table(self):
        self.write('work/kept/c/attach/some.log', '+ x\n'
                   'figures: perf 100 attach: 0.7 s\n')
        self.ran(['c', 'rust'], {'c': ({}, []), 'rust': ({}, [])})
        self.assertIn('\nC     perf 100 attach: 0.7 s\n', self.table)

    def test_what_never_ran_fails_with_one_and_with_both(self):
        some = ({'perf/a': passed()}, [])
        for impls in (['rust'], ['c', 'rust']):
            found = self.ran(impls, {'c': some, 'rust': some})
            failed = [name for name, status in found.items()
                      if status == 'fail']
            self.assertEqual(len(failed), 2, failed)

    def test_one_alone_is_judged_by_itself(self):
        found = self.ran(['c'], {'c': (
            {'perf/a': passed(), 'perf/b': Outcome('skip', 'no tool'),
             'upstream/all/x': Outcome('fail', 'x')}, [])})
        self.assertEqual(found, {
            'c.clients.boot': 'pass', 'c.clients.perf.a': 'pass',
            'c.clients.perf.b': 'skip', 'c.clients.upstream.all.x': 'fail'})


class Files(support.Case):
    def test_each_case_says_in_a_line_what_it_is_for(self):
        for name in programs.cases():
            lines = (programs.FOLDER / f'{name}.sh').read_text().split('\n')
            texts = [line for line in lines[2:] if line.startswith('# ')
                     and not heads.LINE.match(line)]
            self.assertTrue(texts and lines[0].startswith('# SPDX'), name)
