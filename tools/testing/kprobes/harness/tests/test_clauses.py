# SPDX-License-Identifier: GPL-2.0
"""The table of clauses: each has tests that exist, or a reason for none."""

import re

import results
from tests import support

TABLE = results.PLANS / 'clauses.txt'
# The clause that a test is named by.
_NAMED = re.compile(r'(?:.*\.)?([A-Z]\d+(?:_\d+)?)_')


def rows():
    """[(clause, [what stands behind it])]; a row may go on, indented."""
    found = []
    for line in TABLE.read_text().splitlines():
        if line.startswith(' '):
            found[-1][1].extend(line.split())
        elif line and not line.startswith('#'):
            clause, *shown = line.split()
            found.append((clause, shown))
    return found


def planned():
    """The names of all tests that must report in some run."""
    return sorted({name for path in results.PLANS.glob('*.txt')
                   if path != TABLE and not path.name.startswith('known-')
                   for name in results.planned(path.stem)})


def meant(pattern, names):
    """Which of NAMES end as PATTERN says, where * is anything."""
    want = re.compile(r'(?:.*\.)?' + '.*'.join(map(re.escape,
                                                   pattern.split('*'))))
    return [name for name in names if want.fullmatch(name)]


class Table(support.Case):
    def test_no_clause_stands_twice(self):
        clauses = [clause for clause, _ in rows()]
        self.assertEqual(clauses, list(dict.fromkeys(clauses)))

    def test_no_number_is_left_out(self):
        numbers = {}
        for clause, _ in rows():
            series, number = re.fullmatch(r'([A-Z]|R1_)(\d+)', clause).groups()
            numbers.setdefault(series, []).append(int(number))
        self.assertEqual(set(numbers), {*'MRDHOJKSU', 'R1_'})
        for series, found in numbers.items():
            self.assertEqual(found, [*range(1, len(found) + 1)], series)

    def test_each_has_tests_or_a_reason(self):
        self.assertEqual([clause for clause, shown in rows()
                          if not shown or shown == ['-']], [])

    def test_each_pattern_is_a_test(self):
        names = planned()
        self.assertEqual([f'{clause} {pattern}' for clause, shown in rows()
                          if shown[:1] != ['-'] for pattern in shown
                          if not meant(pattern, names)], [])

    def test_a_test_named_by_a_clause_stands_there(self):
        names, table = planned(), dict(rows())
        stands = {clause: {name for pattern in shown
                           for name in meant(pattern, names)}
                  for clause, shown in table.items()}
        named = [(match[1], name) for name in names
                 if (match := _NAMED.match(name))]
        self.assertTrue(named)
        self.assertEqual([name for clause, name in named
                          if name not in stands.get(clause, ())], [])
