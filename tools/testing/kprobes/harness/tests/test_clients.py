# SPDX-License-Identifier: GPL-2.0
"""Upstream's tests of probe events: what the guest says, and what it means."""

import contextlib
import io
import types
from unittest import mock

import cli
import clients
import env
import matrix
import qemu
import results
from tests import support


def said(name, verdict, *log):
    """What the guest says of a test."""
    return [f'client: {name}', *(f'| {line}' for line in log),
            *([f'verdict: [1]Some words [of it]\t[{verdict}]']
              if verdict else []), 'client: end']


class Verdicts(support.Case):
    def judged(self, *words, wanted=('kprobe/a',)):
        found = clients.judge(said(*words), 'x', wanted)
        self.assertEqual([one.name for one in found], ['x.clients.kprobe.a'])
        return found[0].status, found[0].reason

    def test_one_that_passes(self):
        self.assertEqual(self.judged('kprobe/a', 'PASS', '+ exit 0'),
                         ('pass', ''))

    def test_one_that_fails_shows_its_end(self):
        self.assertEqual(
            self.judged('kprobe/a', 'FAIL', '+ 1', '+ 2', '+ 3', '+ 4', '5'),
            ('fail', 'fail: + 2; + 3; + 4; 5'))

    def test_what_cannot_be_is_skipped_with_what_it_has_said(self):
        for verdict in ('UNRESOLVED', 'UNSUPPORTED', 'UNTESTED', 'XFAIL'):
            self.assertEqual(
                self.judged('kprobe/a', verdict, 'execute: a', '+ test',
                            'no such', 'thing', '+ exit_unsupported',
                            '+ kill -s 40 60', '+ exit 0'),
                ('skip', f'{verdict.lower()}: no such thing'))

    def test_one_that_says_nothing_is_skipped_with_its_last_command(self):
        self.assertEqual(
            self.judged('kprobe/a', 'UNSUPPORTED', 'execute: a', '+ [ 1 -le 1 ]',
                        '+ exit_unsupported', '+ kill -s 40 60', '+ exit 0'),
            ('skip', 'unsupported: + [ 1 -le 1 ]'))
        self.assertEqual(self.judged('kprobe/a', 'XFAIL'),
                         ('skip', 'xfail: it has said nothing'))

    def test_a_word_that_nobody_knows_fails(self):
        self.assertEqual(self.judged('kprobe/a', 'UNDEFINED', 'x'),
                         ('fail', 'undefined: x'))

    def test_no_verdict_fails(self):
        self.assertEqual(self.judged('kprobe/a', None, 'x'),
                         ('fail', 'it came to no end: x'))

    def test_what_a_test_prints_is_no_verdict(self):
        self.assertEqual(
            self.judged('kprobe/a', None, 'verdict: [1]b\t[PASS]')[0], 'fail')

    def test_the_guest_ends_within_one(self):
        found = clients.judge(said('kprobe/a', 'PASS')[:-1], 'x', ())
        self.assertEqual([one.status for one in found], ['fail'])

    def test_one_does_not_speak_for_the_next(self):
        found = clients.judge(
            [*said('kprobe/a', 'PASS', 'a'), 'client: end',
             *said('kprobe/b', None), *said('kprobe/c', 'XFAIL')], 'x', ())
        self.assertEqual([(one.status, one.reason) for one in found], [
            ('pass', ''), ('fail', 'it came to no end: it has said nothing'),
            ('skip', 'xfail: it has said nothing')])

    def test_one_that_was_not_run_fails(self):
        found = clients.judge(said('kprobe/a', 'PASS'), 'x',
                              ('kprobe/a', 'kprobe/b'))
        self.assertEqual([(one.name, one.status) for one in found], [
            ('x.clients.kprobe.a', 'pass'), ('x.clients.kprobe.b', 'fail')])


class Files(support.Case):
    def test_the_tests_and_what_runs_them(self):
        for name in ('kprobe/b.tc', 'kprobe/a.tc', 'kprobe/README',
                     'kernel/c.tc'):
            self.write(f'work/tree/{clients._TREE}/test.d/{name}', '')
        self.assertEqual(clients.names(), ['kprobe/a', 'kprobe/b'])
        self.assertEqual(
            clients.files(),
            {f'/ftrace/{name}': env.TREE / clients._TREE / name for name in (
                'ftracetest', 'test.d/functions', 'test.d/kprobe/a.tc',
                'test.d/kprobe/b.tc')})

    def test_no_tests(self):
        with self.refused('tests of upstream'):
            clients.files()


class Piece(support.Case):
    """The piece of the matrix: its boot, its plan, what is known."""

    def found(self, lines, splats=(), died=None, impl='rust'):
        for name in ('a', 'b'):
            self.write(f'work/tree/{clients._TREE}/test.d/kprobe/{name}.tc',
                       '')
        for where, name, put in (
                (cli.guest, 'initramfs', mock.Mock()),
                (results, 'PLANS', self.tmp),
                (matrix.kernel, 'build', lambda arch, impl:
                 types.SimpleNamespace(arch=arch, impl=impl, flavour='test',
                                       name=f'{arch}-{impl}-test')),
                (qemu, 'boot', mock.Mock(side_effect=died, return_value=(
                    mock.Mock(lines=lines, splats=list(splats), seconds=1))))):
            self.enterContext(mock.patch.object(where, name, put))
        self.write('suites.txt', '[clients]\n*: clients.kprobe.a '
                   'clients.kprobe.gone clients.no-splat\n')
        self.write('known-rust.txt', 'kprobe.b it is known\n')
        with contextlib.redirect_stderr(io.StringIO()):
            found = matrix.pieces()[f'{impl}-x86_64-clients']()
        return {one.name.partition('.clients.')[2]: one.status
                for one in found}

    RAN = (*said('kprobe/a', 'PASS'), *said('kprobe/b', 'FAIL'))

    def test_what_is_known_is_skipped_and_what_is_gone_fails(self):
        self.assertEqual(self.found(self.RAN), {
            'kprobe.a': 'pass', 'kprobe.b': 'skip', 'no-splat': 'pass',
            'kprobe.gone': 'fail'})

    def test_what_is_known_of_one_fails_in_the_other(self):
        self.assertEqual(self.found(self.RAN, impl='c')['kprobe.b'], 'fail')

    def test_a_warning_fails(self):
        self.assertEqual(self.found(self.RAN, ['WARNING: x'])['no-splat'],
                         'fail')

    def test_a_dead_guest_fails_and_what_it_did_not_reach_is_no_news(self):
        died = qemu.Died('a', 'it died', 'c', list(said('kprobe/a', 'PASS')))
        self.assertEqual(self.found([], died=died),
                         {'kprobe.a': 'pass', 'boot': 'fail'})
