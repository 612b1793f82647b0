# SPDX-License-Identifier: GPL-2.0
"""ktap.parse: what is counted, and that nothing lost goes unnoticed."""

import textwrap
import unittest

import ktap


def parse(text, prefix=''):
    """{name: status} of TEXT, in order, as a list of pairs."""
    return [(one.name, one.status)
            for one in ktap.parse(textwrap.dedent(text).splitlines(), prefix)]


def reasons(text):
    """{name: reason} of TEXT."""
    return {one.name: one.reason
            for one in ktap.parse(textwrap.dedent(text).splitlines())}


NESTED = '''\
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
    '''


class Counting(unittest.TestCase):
    def test_leaves_are_counted_and_parents_are_not(self):
        self.assertEqual(parse(NESTED, 'x86_64.c'), [
            ('x86_64.c.slot_map.takes_a_free_slot', 'pass'),
            ('x86_64.c.slot_map.gives_it_back', 'pass'),
            ('x86_64.c.decode.never_panics.one_byte', 'pass'),
            ('x86_64.c.decode.never_panics.two_bytes', 'fail'),
            ('x86_64.c.decode.length', 'skip'),
        ])

    def test_skip_gives_its_reason(self):
        self.assertEqual(reasons(NESTED)['decode.length'], 'no vectors here')

    def test_skip_in_small_letters(self):
        self.assertEqual(parse('ok 1 a # skip why'), [('a', 'skip')])

    def test_numbers_without_names(self):
        self.assertEqual(parse('ok 1\nnot ok 2\n'),
                         [('?', 'pass'), ('?', 'fail')])

    def test_name_after_a_dash(self):
        self.assertEqual(parse('ok 1 - first step'), [('first step', 'pass')])

    def test_any_diagnostic_after_a_result(self):
        self.assertEqual(parse('ok 1 a # time=5.1ms\nnot ok 2 b #7\n'),
                         [('a', 'pass'), ('b', 'fail')])

    def test_several_streams_in_a_row(self):
        self.assertEqual(parse('''\
            KTAP version 1
            # Subtest: surface
            ok 1 list
            1..1
            KTAP version 1
            # Subtest: samples
            ok 1 loads
            ok 2 unloads
            1..2
            '''), [('surface.list', 'pass'), ('samples.loads', 'pass'),
                   ('samples.unloads', 'pass')])

    def test_kernel_messages_in_between(self):
        self.assertEqual(parse('''\
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
            input: AT Translated Set 2 keyboard as /devices/1
            ok 1 s
            '''), [('s.a', 'pass'), ('s.b', 'pass')])

    def test_nothing_is_nothing(self):
        self.assertEqual(parse('Linux version 7.3\nRun /init\n'), [])


class Failing(unittest.TestCase):
    def test_notes_are_the_reason(self):
        found = reasons('''\
            KTAP version 1
            # Subtest: s
            ok 1 fine
            # bad: EXPECTATION FAILED at lib/x.c:20
            # bad: one more
            not ok 2 bad
            not ok 3 silent
            ''')
        self.assertEqual(found['s.bad'],
                         'bad: EXPECTATION FAILED at lib/x.c:20; '
                         'bad: one more')
        self.assertEqual(found['s.silent'], '')

    def test_suite_that_fails_outside_its_cases(self):
        self.assertEqual(parse('''\
            KTAP version 1
            1..1
                KTAP version 1
                # Subtest: s
                1..1
                ok 1 a
            not ok 1 s
            '''), [('s.a', 'pass'), ('s', 'fail')])

    def test_suite_that_never_began_its_cases(self):
        found = parse('''\
            KTAP version 1
            1..1
                KTAP version 1
                # Subtest: s
                1..2
            not ok 1 s
            ''')
        self.assertIn(('s', 'fail'), found)
        self.assertNotIn('pass', dict(found).values())

    def test_plan_larger_than_what_came(self):
        found = parse('''\
            KTAP version 1
            # Subtest: s
            1..3
            ok 1 a
            ok 2 b
            ''')
        self.assertEqual(found[-1], ('s.plan', 'fail'))
        self.assertEqual([status for _, status in found],
                         ['pass', 'pass', 'fail'])

    def test_outer_plan_larger_than_what_came(self):
        found = parse('''\
            KTAP version 1
            1..2
                KTAP version 1
                # Subtest: s
                1..1
                ok 1 a
            ok 1 s
            ''', 'x86_64.c')
        self.assertEqual(found, [('x86_64.c.s.a', 'pass'),
                                 ('x86_64.c.plan', 'fail')])

    def test_next_stream_does_not_hide_a_short_one(self):
        found = parse('''\
            KTAP version 1
            1..2
            ok 1 a
            KTAP version 1
            1..1
            ok 1 b
            ''')
        self.assertEqual(found, [('a', 'pass'), ('plan', 'fail'),
                                 ('b', 'pass')])

    def test_suite_whose_own_result_is_lost(self):
        # Its results must not fill the plan of the suite after it.
        found = parse('''\
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
            ''')
        self.assertIn(('second.plan', 'fail'), found)
        self.assertIn(('plan', 'fail'), found)
        self.assertIn(('first.a', 'pass'), found)
