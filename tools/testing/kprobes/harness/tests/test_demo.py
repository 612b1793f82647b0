# SPDX-License-Identifier: GPL-2.0
"""make run: what must appear, with either implementation, and in pages."""

import types
from unittest import mock

import demo
import documents
from tests import support

# A line of a guest for each pattern of demo.py.
_LINES = '''\
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
| cat-366  [001] ..... 16.5: last: (ksys_read <- vfs_read) ret=1
kprobe_batch_example: vfs_write: 7 hits, 0 missed'''.split('\n')
_SHOWN = ['== a', '$ cat list', '| ffffffff81056d40  k  f+0x0    [FTRACE]',
          'handler_pre: <f> p->addr = 0x00000000c1b2f94f, ip = '
          'ffffffff81056d41', '$ cat on', '| 0', 'f: 22 hits, 0 missed',
          '| cat-78 [001] .N...  18.39: g: (f+0x0/0x130) count=0x10000',
          '| f+0x0/0xb0  -22  why\t']


class Run(support.Case):
    def test_each_line_is_needed(self):
        self.assertEqual(demo.missing(_LINES), [])
        for line in _LINES:
            self.assertEqual(len(demo.missing(
                [other for other in _LINES if other != line])), 1, line)

    def run_with(self, lines, impl='rust', unseen=()):
        built = types.SimpleNamespace(arch='x86_64', impl=impl, release='7.3')
        console = types.SimpleNamespace(lines=lines, log=self.tmp / 'console')
        for owner, name, answer in (
                (demo.guest, 'initramfs', None), (demo.guest, 'shipped', []),
                (demo.documents, 'unseen', unseen),
                (demo.qemu, 'boot', console)):
            self.enterContext(mock.patch.object(
                owner, name, mock.Mock(return_value=answer)))
        return demo.run(built, '')

    def test_what_is_missing_or_not_as_documented_is_refused(self):
        self.assertEqual(self.run_with(_LINES), 0)
        with self.refused('not seen: a command-line probe fired',
                          'whole console'):
            self.run_with([line for line in _LINES if 'first:' not in line])
        unseen = ['life.rst:3: | 1']
        with self.refused('README and the pages', *unseen):
            self.run_with(_LINES, unseen=unseen)
        self.assertEqual(self.run_with(_LINES, 'c', unseen), 0)


class Sessions(support.Case):
    """What a page shows of `make run`, and what a guest has shown."""

    def test_what_varies(self):
        self.assertEqual(documents.absent([
            '== a', '$ cat list', '| ffffffff81000000 k f+0x0 [FTRACE]',
            '  kernel: handler_pre: <f> p->addr = 0x1, ip = ffffffff81056d42',
            '', '| 0', 'f: 7 hits, 0 missed',
            '| cat-9 [000] ..... 1.5: g: (f+0x0/0x1) count=0x1',
            '| f+0x0/0x1 -22 why'], _SHOWN), '')

    def test_what_does_not(self):
        for wrong in ('| ffffffff81000000  r  f+0x0    [FTRACE]',
                      '| ffffffff81000000  k  f+0x0', '| 1',
                      'f: 22 hits, 1 missed', 'f: 0 hits, 0 missed',
                      '| f+0x0/0xb0  -95  why', '| f+0x5/0xb0  -22  why',
                      '| f+0x0/0x0  -22  why', '$ cat  others', '==  b'):
            self.assertEqual(documents.absent([wrong], _SHOWN), wrong)
        self.assertEqual(documents.absent(['| 0', '$ cat list'], _SHOWN),
                         '$ cat list')
