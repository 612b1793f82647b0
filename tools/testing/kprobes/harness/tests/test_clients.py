# SPDX-License-Identifier: GPL-2.0
"""Real programs with C's kprobes and with ours: what is judged, and what told."""

import subprocess
from types import SimpleNamespace
from unittest import mock

import arches
import clients
import env
import guest
import ktap
import qemu
from clients import Outcome, bpf
from ktap import Result
from tests import support


def passed(out='', seconds=1):
    return Outcome('pass', '', seconds, out)


class Comparing(support.Case):
    def test_the_result_of_both_outcomes(self) -> None:
        other = 'another output than with C: '
        fails, skips = Outcome('fail', 'no'), Outcome('skip', 'no')
        missing = Outcome('fail', 'it was not run')
        for with_c, with_rust, status, reason in (
                (passed('1\n'), passed('1\n'), 'pass', ''),
                (passed('1\n2\n'), passed('1\n'), 'fail',
                 f'{other}line 2: "2" with C, "(its end)" with ours'),
                (passed('1\n'), passed('1'), 'fail',
                 f'{other}only in how lines end'),
                (fails, skips, 'skip', 'not applicable: no'),
                (skips, fails, 'skip', 'not applicable: no'),
                (passed(), fails, 'fail', 'it passes with C: no'),
                (passed(), skips, 'fail', 'it passes with C: no'),
                (fails, passed('1'), 'pass', ''),
                (missing, passed('1'), 'pass', ''),
                (passed(), missing, 'fail', 'it passes with C: it was not run'),
                (fails, missing, 'fail', 'with C: no; with ours: it was not run'),
                (missing, fails, 'fail', 'with C: it was not run; with ours: no')):
            self.assertEqual(clients.compare('perf/a', with_c, with_rust),
                             Result('clients.perf.a', status, reason))
        # Another output may be explained.
        self.assertEqual(clients.compare('perf/a', passed('1'), passed('2'), 'why').status, 'pass')


class Running(support.Case):
    def setUp(self) -> None:
        super().setUp()
        for name in ('perf/a', 'perf/b', 'stap/a', 'upstream/all', bpf.CASE):
            self.write(f'work/cases/{name}.sh', '# x\n')
        self.built = SimpleNamespace(arch='s390x', impl='rust', name='s390x-rust-clients',
                                     obj=env.WORK / 'obj', machine=arches.of('s390x'))
        self.console, self.outs, self.died = [], {}, None
        self.jobs, self.uncompiled = [], {}

        def prepare(_built, names):
            return env.WORK, {name: why for name, why in self.uncompiled.items() if name in names}
        self.replace(
            (clients, 'FOLDER', env.WORK / 'cases'),
            (clients, '_KEPT', env.WORK / 'kept'),
            (clients, '_modules', lambda _: env.WORK),
            (clients.guest, 'initramfs',
             lambda _built, _name, job: self.jobs.append(job)),
            (clients.qemu, 'boot', self.boot),
            (clients.stap, 'prepare', prepare),
            (clients.bpf, 'prepare', prepare))
        self.given(KP_CLIENTS_S390X=str(self.tmp))

    def boot(self, _built, _image, *, on_line, extra, **_):
        # The guest can write its results, and nothing else.
        self.assertEqual([word for word in extra if word.startswith('local,')
                          and 'readonly=on' not in word
                          and 'id=results' not in word], [])
        for name, text in self.outs.items():
            self.write(f'work/kept/s390x/rust/{name}.out', text)
        for line in self.console:
            on_line(line)
        if self.died:
            raise self.died
        return SimpleNamespace(splats=['BUG: x'])

    def run_cases(self, *names):
        return clients.run(self.built, list(names))

    def test_cases_are_files_by_the_beginning_of_their_names(self) -> None:
        self.assertEqual(clients.cases('up perf/b'), ['perf/b', 'upstream/all', bpf.CASE])
        with self.refused('perf/a, perf/b', 'none'):
            clients.cases('none')

    def test_what_the_guest_says_and_what_cases_print(self) -> None:
        self.console = ['case: perf/a begins', 'case: perf/a pass 12: ',
                        'case: perf/b fail 3: status 1: no']
        self.outs = {'perf/a': '20 calls\n'}
        outcomes = {'perf/a': Outcome('pass', '', 12, '20 calls\n'),
                    'perf/b': Outcome('fail', 'status 1: no', 3, '')}
        self.assertEqual(self.run_cases('perf/a', 'perf/b'), (outcomes, ['BUG: x']))
        self.assertIn('CASES="perf/a perf/b"', self.jobs[0])
        # A guest that dies tells what it had.
        self.died = qemu.Died('it', 'the kernel died\nmore', 'look', [])
        self.assertEqual(self.run_cases('perf/a', 'perf/b'), (outcomes, ['the kernel died']))

    def test_parts_of_a_case_are_cases(self) -> None:
        self.outs = {'upstream/all': 'leaf: kprobe/one pass\n'
                     'leaf: kprobe/two skip UNRESOLVED: no symbol\n'}
        parts = {'upstream/all/kprobe/one': Outcome('pass'),
                 'upstream/all/kprobe/two': Outcome('skip',
                                                    'UNRESOLVED: no symbol')}
        self.console = ['case: upstream/all pass 12: ']
        self.assertEqual(self.run_cases('upstream/all')[0], parts)
        # One that fails itself is one more.
        self.console = ['case: upstream/all fail 12: left behind']
        outcomes, _ = self.run_cases('upstream/all')
        self.assertEqual(outcomes.pop('upstream/all/all').why, 'left behind')
        self.assertEqual(outcomes, parts)

    def test_what_does_not_compile_is_skipped_and_not_run(self) -> None:
        self.uncompiled = {'stap/a': 'error: x', bpf.CASE: 'error: y'}
        skipped = {name: Outcome('skip', f'it does not compile: {why}')
                   for name, why in self.uncompiled.items()}
        # Where there is nothing else, nothing is booted.
        self.assertEqual(self.run_cases(*skipped), (skipped, []))
        self.assertEqual(self.jobs, [])
        self.assertEqual(self.run_cases('perf/a', *skipped)[0], {
            **skipped, 'perf/a': Outcome('fail', 'it was not run')})
        self.assertIn('CASES="perf/a"', self.jobs[0])

    def judged(self, impls, outcomes):
        """{result: status} where implementations end with OUTCOMES."""
        with mock.patch.object(clients.kernel, 'build',
                               lambda _arch, impl, _: impl), \
                mock.patch.object(clients, 'run', lambda built, _: outcomes[built]):
            judged = clients.tests('s390x', impls, 'perf upstream/all')
        return {each.name: each.status for each in judged}

    def test_both_are_compared_and_the_table_shows_it(self) -> None:
        self.write('work/cases/perf/b.sh', '# differs: C counts late\n')
        outcomes = {'perf/a': passed('1'), 'perf/b': passed('1'), 'upstream/all/x': passed()}
        self.assertEqual(self.judged(['c', 'rust'], {
            'c': (outcomes, []),
            'rust': ({**outcomes, 'perf/b': passed('2')}, ['BUG: x'])}), {
                'c.clients.boot': 'pass', 'rust.clients.boot': 'fail',
                'clients.perf.a': 'pass', 'clients.perf.b': 'pass',
                'clients.upstream.all.x': 'pass'})
        table = self.printed.getvalue()
        self.assertRegex(table, r'perf +a +passed +1 s passed +1 s +same')
        self.assertRegex(table, r'perf +b +.*C counts late')

    def test_a_file_that_a_case_needs(self) -> None:
        self.write('work/cases/perf/b.sh', '# needs: /usr/none\n')
        with self.refused('/usr/none in the root', 'the case perf/b'):
            clients.tests('s390x', ['rust'], 'perf')

    def test_what_never_ran_fails_with_one_and_with_both(self) -> None:
        some = ({'perf/a': passed(), **dict.fromkeys(
            ('perf/b', 'upstream/all'), Outcome('fail', 'it was not run'))}, [])
        for impls in (['rust'], ['c', 'rust']):
            statuses = self.judged(impls, {'c': some, 'rust': some})
            self.assertEqual(list(statuses.values()).count('fail'), 2)
        # One alone is judged by itself.
        self.assertEqual(self.judged(['c'], {'c': (
            {'perf/a': passed(), 'perf/b': Outcome('skip', 'no tool'),
             'upstream/all/x': Outcome('fail', 'x')}, [])}), {
            'c.clients.boot': 'pass', 'c.clients.perf.a': 'pass',
            'c.clients.perf.b': 'skip', 'c.clients.upstream.all.x': 'fail'})


# As ftracetest with --stop-fail. The fourth test has no verdict, the sixth is not run.
_FTRACETEST = '''
mkdir -p logs
number=0
for test in "$@"; do
    number=$((number + 1))
    case $test in
    *t1.tc) verdict=PASS ;;
    *t2.tc) verdict=FAIL ;;
    *t3.tc) verdict=UNSUPPORTED ;;
    *t4.tc) verdict= ;;
    *t5.tc) verdict=UNRESOLVED ;;
    *.tc) exit ;;
    *)
        number=0
        continue
        ;;
    esac
    {
        printf 'execute: /ftrace/%s\\n+ a\\n+ exit 1\\n' ${test#./}
        case $verdict in
        UNSUP*) printf "+ : Add\\n+ echo 'no\\nX'\\nno\\nX\\n+ exit_x\\n+ kill\\n" ;;
        UNRES*) printf '+ : Add an event\\nkept\\n+ [ x != x ]\\n+ exit_x\\n+ kill\\n' ;;
        esac
    } >logs/$number-x-log.y
    echo "[$number] Some [words] of it${verdict:+\t[$verdict]}"
    [ "$verdict" = PASS ] || exit 1
done
'''


class Ftracetest(support.Case):
    def test_each_verdict_is_a_leaf(self) -> None:
        self.write('ftracetest', _FTRACETEST)
        for name in '123456':
            self.write(f'test.d/kprobe/t{name}.tc', '')
        job = guest.script('clients').read_text().replace(
            '/tmp/clients', 'logs').replace(' /ftrace/', ' ./')
        text = subprocess.run(
            ['dash', '-c', f'. {env.SELFTESTS}/lib.sh\nKPROBES=x\n'
             'say() { echo "$*"; }; umount() { :; }; mount() { :; }\n'
             'mkdir() { :; }; ln() { :; }\n' + job],
            text=True, capture_output=True, check=True, cwd=self.tmp).stdout
        end = 'execute: /ftrace/test.d/kprobe/t{}.tc;+ a;+ exit 1;'
        self.assertEqual([(leaf.name, leaf.status, leaf.reason)
                          for leaf in ktap.parse(text.splitlines(), 'x')], [
            ('x.clients.kprobe.t1', 'pass', ''),
            ('x.clients.kprobe.t2', 'fail',
             'kprobe.t2: FAIL: ' + end.format(2)),
            ('x.clients.kprobe.t3', 'skip', 'UNSUPPORTED: no X'),
            ('x.clients.kprobe.t4', 'fail',
             'kprobe.t4: words] of it: ' + end.format(4)),
            ('x.clients.kprobe.t5', 'skip', 'UNRESOLVED: at: Add an event'),
            ('x.clients.plan', 'fail', '6 results announced, 5 came')])
