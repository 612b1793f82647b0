# SPDX-License-Identifier: GPL-2.0
"""What is shown of a build: its first error, its warnings, a full disk."""

from unittest import mock

import kernel
from tests import support


class Logs(support.Case):
    def build(self, *lines: str, free: int = 1 << 40) -> None:
        """A build that prints LINES and fails."""
        (self.tmp / 'build.log').unlink(missing_ok=True)
        printed = self.write('printed', '\n'.join(lines) + '\n')
        with mock.patch.object(kernel.procs.shutil, 'disk_usage',
                               return_value=mock.Mock(free=free)):
            kernel.compile_targets(
                ['sh', '-c', f'cat {printed}; exit 2'], [],
                self.tmp / 'build.log', mock.Mock(), 'the module')

    def test_a_refusal_says_what_to_do(self) -> None:
        for lines, free, words in (
                (['  CC      mm/slub.o'] * 70 + [
                    'a.c: In function x:', 'a.c:3:1: error: no_such_thing',
                    '  CC      mm/slab.o'],
                 1 << 40, ('the module to build', 'exit status 2',
                           'mend it and run the same command again',
                           f'whole log: {self.tmp}/build.log')),
                (['ERROR: modpost: self.ko: GPL-incompatible module uses '
                  'GPL-only symbol'], 1 << 40,
                 ('say license: "GPL" in module!',)),
                (['error: No space left on device'], 1 << 40,
                 ('the disk is full', 'CACHE=')),
                (['error: cannot write'], 1 << 20,
                 ('the disk is full', 'CACHE='))):
            with self.subTest(lines), self.refused(*words):
                self.build(*lines, free=free)
        self.assertIn('a.c: In function x:\na.c:3:1: error: no_such_thing\n',
                      self.printed.getvalue())
        self.assertNotRegex(self.printed.getvalue(), 'sl[au]b')
