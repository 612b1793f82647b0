# SPDX-License-Identifier: GPL-2.0
"""ktap.parse: what is counted, and that nothing lost goes unnoticed."""

import textwrap
import unittest

import ktap

# (what is shown, the lines, {name: status} as they come)
_CASES = (
    ('leaves are counted and parents are not', '''\
    KTAP version 1
    1..2
        KTAP version 1
        # Subtest: slot_map
        # module: rust_kprobes
        1..2
        ok 1 takes_a_free_slot
        ok 2 gives_it_back
    # slot_map: pass:2 fail:0 skip:0 total:2
    # Totals: pass:2 fail:0 skip:0 total:2
    ok 1 slot_map
        KTAP version 1
        # Subtest: decode
        1..2
            KTAP version 1
            # Subtest: never_panics
            ok 1 one_byte
            not ok 2 two_bytes
        not ok 1 never_panics
        ok 2 length # SKIP no vectors here
    # decode: pass:0 fail:1 skip:1 total:2
    not ok 2 decode
    ''', [('slot_map.takes_a_free_slot', 'pass'),
          ('slot_map.gives_it_back', 'pass'),
          ('decode.never_panics.one_byte', 'pass'),
          ('decode.never_panics.two_bytes', 'fail'),
          ('decode.length', 'skip')]),
    ('forms of a line', '''\
     ok 1
     not ok 2
     ok 3 - first step
     ok 4 a # time=5.1ms
     not ok 5 b #7
     ok 6 c # skip why
     ''', [('?', 'pass'), ('?', 'fail'), ('first step', 'pass'),
           ('a', 'pass'), ('b', 'fail'), ('c', 'skip')]),
    ('kernel messages in between', '''\
     KTAP version 1
     clocksource: Switched to clocksource tsc
     1..1
         KTAP version 1
         # Subtest: s
     random: crng init done
         1..2
     Freeing unused kernel image (initmem) memory: 1024K
         ok 1 a
     BUG: not ok 3 is no result
         ok 2 b
     ok 1 s
     ''', [('s.a', 'pass'), ('s.b', 'pass')]),
    ('a suite that fails outside its cases', '''\
     KTAP version 1
     1..1
         KTAP version 1
         # Subtest: s
         1..1
         ok 1 a
     not ok 1 s
     ''', [('s.a', 'pass'), ('s', 'fail')]),
    ('a plan larger than what came, and another stream', '''\
     KTAP version 1
     1..2
     ok 1 a
     KTAP version 1
     1..1
     ok 1 b
     ''', [('a', 'pass'), ('plan', 'fail'), ('b', 'pass')]),
    # Its results must not fill the plan of the suite after it.
    ('a suite whose own result is lost', '''\
     KTAP version 1
     1..2
         KTAP version 1
         # Subtest: first
         1..2
         ok 1 a
         ok 2 b
         KTAP version 1
         # Subtest: second
         1..2
         ok 1 c
     ok 2 second
     ''', [('first.a', 'pass'), ('first.b', 'pass'), ('second.c', 'pass'),
           ('second.plan', 'fail'), ('plan', 'fail')]))


class Parse(unittest.TestCase):
    def test_names_and_statuses(self) -> None:
        for case, lines, expected in _CASES:
            with self.subTest(case):
                self.assertEqual(
                    [(result.name, result.status) for result in ktap.parse(
                        textwrap.dedent(lines).splitlines(), 'x')],
                    [(f'x.{name}' if name else 'x', status)
                     for name, status in expected])

    def test_reasons(self) -> None:
        self.assertEqual({result.name: result.reason for result in ktap.parse([
            'KTAP version 1', '# Subtest: s', 'ok 1 fine',
            '# bad: EXPECTATION FAILED at lib/x.c:20', '# bad: one more',
            'not ok 2 bad', 'not ok 3 silent', 'ok 4 length # SKIP why'])}, {
                's.fine': '', 's.silent': '', 's.length': 'why',
                's.bad': 'bad: EXPECTATION FAILED at lib/x.c:20; '
                'bad: one more'})
