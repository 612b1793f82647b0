# SPDX-License-Identifier: GPL-2.0
"""make run: what must appear, with either implementation, and in pages."""

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

    def test_what_the_pages_show_is_wanted_of_ours_alone(self):
        built = mock.Mock(arch='x86_64', impl='c', release='7.3')
        self.replace(
            (demo.guest, 'initramfs', mock.Mock()),
            (demo.guest, 'shipped', mock.Mock()),
            (demo.documents, 'unseen', lambda _: ['life.rst:3: | 1']),
            (demo.qemu, 'boot', lambda *_, **__: mock.Mock(lines=_LINES)))
        self.assertEqual(demo.run(built, ''), 0)
        built.impl = 'rust'
        with self.refused('README and the pages', 'life.rst:3: | 1'):
            demo.run(built, '')


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
        self.assertEqual(documents.absent(['| 0', '$ cat list'], _SHOWN), '$ cat list')
