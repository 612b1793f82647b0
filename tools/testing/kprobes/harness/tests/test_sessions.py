# SPDX-License-Identifier: GPL-2.0
"""What a page shows of `make run`, and what a guest has shown."""

from unittest import mock

import documents
import sessions
from tests import support

_SHOWN = ['== a', '$ cat list', '| ffffffff81056d40  k  f+0x0    [FTRACE]',
          'handler_pre: <f> p->addr = 0x00000000c1b2f94f, ip = '
          'ffffffff81056d41', '$ cat on', '| 0', 'f: 22 hits, 0 missed',
          '| cat-78 [001] .N...  18.39: g: (f+0x0/0x130) count=0x10000',
          '| f+0x0/0xb0  -22  why\t']


class Sessions(support.Case):
    def test_what_varies(self):
        self.assertEqual(sessions.absent([
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
            self.assertEqual(sessions.absent([wrong], _SHOWN), wrong)
        self.assertEqual(sessions.absent(['| 0', '$ cat list'], _SHOWN),
                         '$ cat list')

    def test_of_which_listings(self):
        listing = documents.Listing('life.rst', 3, 'make run', ['$ a', '| b'])
        with mock.patch.object(sessions, 'listings', lambda: [listing]):
            self.assertEqual(sessions.unseen(['$ a', '| b']), [])
            self.assertEqual(sessions.unseen(['$ a']), ['life.rst:3: | b'])
