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
                (['  CC      mm/slub.o', 'a.c:3:1: error: no_such_thing'],
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
        self.assertIn('\na.c:3:1: error: no_such_thing\n',
                      self.printed.getvalue())
        self.assertNotIn('slub', self.printed.getvalue())

    def test_the_first_error_is_shown(self) -> None:
        cc = ['  CC      lib/error-inject.o'] + ['  CC      mm/slub.o'] * 70
        for lines, shown in (
                ([*cc, 'kernel/x.c: In function y:',
                  'kernel/x.c:3:1: error: expected ;', '  CC      mm/slab.o',
                  'make: *** [Makefile:3: all] Error 2'],
                 ('In function y', 'kernel/x.c:3:1: error: expected ;',
                  '*** [Makefile')),
                ([*cc, "ERROR: modpost: x.ko: symbol 'y' undefined!"],
                 ("symbol 'y' undefined!",)),
                ([f'line {n}' for n in range(100)], ('line 99',))):
            text = kernel.complaint(self.write('build.log', '\n'.join(lines)))
            for part in shown:
                self.assertIn(part, text)
            self.assertNotIn('mm/slab', text)
            self.assertNotIn('line 50\n', text)
