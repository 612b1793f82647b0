# SPDX-License-Identifier: GPL-2.0
"""compilefail.py takes nothing for a refusal but the one that is expected."""

import compilefail
from tests import support

_OUTPUT = '''\
error[E0061]: too few
  --> one.rs:1:1
   = note: one is missing

error: aborting due to 1 previous error
'''


class Judged(support.Case):
    def test_what_the_compiler_says(self) -> None:
        for output, mismatches in (
                (_OUTPUT, []),
                (_OUTPUT.replace('E0061', 'E0060'), [
                    'not said: error[E0061]: too few',
                    'not expected: error[E0060]: too few']),
                (_OUTPUT.replace('few', 'many'), [
                    'not said: error[E0061]: too few',
                    'not expected: error[E0061]: too many']),
                (_OUTPUT + 'error: unknown\n',
                 ['not expected: error: unknown']),
                (_OUTPUT.replace('one is', 'is'),
                 ['not said: one is missing'])):
            self.assertEqual(compilefail.judge(
                {'error[E0061]: too few'}, ['one is missing'], output), mismatches)
        # A text is said as often as it is named.
        self.assertEqual(compilefail.judge(
            {'error[E0061]: too few'}, ['one is missing'] * 2, _OUTPUT),
            ['not said: one is missing'])
