# SPDX-License-Identifier: GPL-2.0
"""make run: what must appear, with either implementation."""

import types
from unittest import mock

import cli
import demo
from tests import support

_BOTH = '''\
handler_pre: <kernel_clone> p->addr
handler_post: <kernel_clone> p->addr
| ffffffff81058640  k  kernel_clone+0x0    [FTRACE]
| cat-366  [001] ..... 16.5: first: (vfs_read+0x0/0x130) count=0x1
| 0
| 1
kprobe_batch_example: 4 probes registered at once, in 54 us, none armed yet
| ffffffff811d  k  vfs_write+0x0    [DISABLED][FTRACE]
kprobe_batch_example: armed
kernel_clone returned 42 and took 7 ns to execute
| ffffffff81058640  r  kernel_clone+0x0    [FTRACE]
| cat-366  [001] ..... 16.5: last: (ksys_read <- vfs_read) ret=1'''.split('\n')
_OF_C = '''\
kprobe_batch_example: vfs_write: 7 hits, 0 missed, 0 faults
kprobe_batch_example: handlers made 9 calls to a probed function, 8 missed\
'''.split('\n')
_OF_OURS = '''\
kprobe_batch_example: vfs_write: 7 hits, 0 missed, 7 faults
kprobe_batch_example: handlers made 9 calls to a probed function, 9 missed
jprobe_example: kernel_clone(returns): flags = 0x1200011, exit_signal = 17
jprobe_example: kernel_clone(jprobe_return): flags = 0x4111, exit_signal = 17
| ffffffff81058640  j  kernel_clone+0x0    [FTRACE]
| ffffffff81058645  k  vfs_read+0x5    [OPTIMIZED]
$ echo 0 >/proc/sys/debug/kprobes-optimization
| ffffffff81058645  k  vfs_read+0x5
$ echo 1 >/proc/sys/debug/kprobes-optimization
| ffffffff81058646  k  vfs_read+0x6    [OPTIMIZED]
|   inside                                            148             0
| exc_int3+0x0/0xb0  -22  the function belongs to the handling'''.split('\n')


class Needed(support.Case):
    def test_each_is_needed(self):
        for lines, impl in (_BOTH + _OF_C[:1], 'c'), (_BOTH + _OF_OURS, 'rust'):
            self.assertEqual(demo.missing(lines, impl), [])
            for line in lines:
                rest = [other for other in lines if other != line]
                self.assertTrue(demo.missing(rest, impl), line)

    def test_ours_loses_no_miss_and_no_fault(self):
        self.assertEqual(
            demo.missing(_BOTH + _OF_C + _OF_OURS[2:], 'rust'),
            ['every hit in a handler was counted as missed',
             'a fault handler saw each fault'])

    def test_c_has_no_sample_of_a_jprobe(self):
        ours = set(demo.samples('rust')) - set(demo.samples('c'))
        self.assertEqual(ours, {'jprobe_example'})

    def test_another_errno_is_not_the_refusal(self):
        lines = [line.replace('-22', '-95') for line in _BOTH + _OF_OURS]
        self.assertEqual(demo.missing(lines, 'rust'),
                         ['why a function was refused was told'])

    def run_with(self, lines, impl='rust', unseen=()):
        built = types.SimpleNamespace(arch='x86_64', impl=impl, release='7.3')
        console = types.SimpleNamespace(lines=lines, log=self.tmp / 'console')
        for owner, name, answer in (
                (demo.guest, 'initramfs', None), (demo.guest, 'shipped', []),
                (demo.sessions, 'unseen', unseen),
                (demo.qemu, 'boot', console)):
            self.enterContext(mock.patch.object(
                owner, name, mock.Mock(return_value=answer)))
        return demo.run(built, '')

    def test_all_of_it_or_a_part(self):
        self.assertEqual(self.run_with(_BOTH + _OF_OURS), 0)
        self.assertIn('the return probe fired', self.printed.getvalue())
        with self.refused('not seen: a command-line probe fired',
                          'whole console'):
            self.run_with([line for line in _BOTH + _OF_OURS
                           if 'first:' not in line])

    def test_what_a_page_shows_of_ours(self):
        unseen = ['life.rst:3: | 1']
        with self.refused('README and the pages', 'life.rst:3: | 1'):
            self.run_with(_BOTH + _OF_OURS, unseen=unseen)
        self.assertEqual(self.run_with(_BOTH + _OF_C, 'c', unseen), 0)


class Default(support.Case):
    def test_ours_where_it_is_there_or_a_line_that_says_so(self):
        for given, shown, *said in (
                ({}, ('x86_64', 'rust')),
                ({'ARCH': 's390x'}, ('s390x', 'c'),
                 'no Rust back end for s390x yet', 'IMPL=c'),
                ({'IMPL': 'c'}, ('x86_64', 'c'))):
            self.printed.truncate(0)
            with mock.patch.dict('os.environ', {'ARCH': '', 'IMPL': '',
                                                **given}):
                self.assertEqual(cli._shown(), shown)
            self.assertEqual(bool(self.printed.getvalue()), bool(said))
            for words in said:
                self.assertIn(words, self.printed.getvalue())
